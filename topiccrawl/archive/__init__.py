"""What a crawl keeps: the page files, and the catalogue in link.db that knows them."""
