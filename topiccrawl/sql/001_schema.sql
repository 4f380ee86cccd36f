-- The first schema of link.db.
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- One row per host: politeness state that outlives a run.
CREATE TABLE hosts (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    next_allowed REAL NOT NULL DEFAULT 0,   -- seconds since the epoch
    crawl_delay REAL                        -- seconds, from robots.txt
);

-- One row per origin (scheme, host, port) whose robots.txt was asked for.
CREATE TABLE robots (
    origin TEXT PRIMARY KEY,
    state TEXT NOT NULL,                    -- known, deferred, unreachable
    text TEXT NOT NULL DEFAULT '',
    status INTEGER,
    tries INTEGER NOT NULL DEFAULT 0,
    changed_at REAL NOT NULL,
    reason TEXT NOT NULL                    -- what its URLs end with when it is unreachable
) WITHOUT ROWID;

-- One row per known URL: the frontier and the nodes of the link graph. id is "first come". Rows are appended and
-- updated by id only: an index on anything else would make adding slower with every million rows.
CREATE TABLE urls (
    id INTEGER PRIMARY KEY,
    hash INTEGER NOT NULL,                  -- 64-bit hash of the URL key, as a signed integer
    host INTEGER NOT NULL REFERENCES hosts (id),
    queue TEXT NOT NULL,                    -- waiting, processing, error, done, discard
    level INTEGER NOT NULL,                 -- m = m0 * b^level
    sim INTEGER NOT NULL,                   -- 0..65535
    depth INTEGER NOT NULL,
    url TEXT NOT NULL,                      -- as fetched
    key TEXT,                               -- URL key; NULL where it equals url
    parent INTEGER,                         -- the page whose link gave level and sim; NULL for a seed
    link_text TEXT NOT NULL DEFAULT '',     -- the text of that link
    tries INTEGER NOT NULL DEFAULT 0,       -- fetches that were begun and did not end in done
    crashes INTEGER NOT NULL DEFAULT 0,     -- tries that ended with the death of the process
    hops INTEGER NOT NULL DEFAULT 0,        -- redirects that led here
    reason TEXT,                            -- see records.Reason
    status INTEGER,                         -- HTTP status of the last answer
    retry_at REAL,                          -- error only: when it returns to waiting
    changed_at REAL NOT NULL,               -- when it entered its queue
    target INTEGER,                         -- done by redirect: the row it led to
    note TEXT,
    request BLOB                            -- method, headers, body, callback of a Request of a user's spider
);

-- One row per distinct link target of a stored page, appended page by page.
CREATE TABLE links (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    target INTEGER NOT NULL,
    sim INTEGER,                            -- NULL while the topic was still being learned
    nofollow INTEGER NOT NULL DEFAULT 0
);

-- One row per stored page.
CREATE TABLE pages (
    url INTEGER PRIMARY KEY REFERENCES urls (id),
    file TEXT NOT NULL,                     -- page_db/...
    pageinfo TEXT NOT NULL,                 -- page_info/...
    links TEXT NOT NULL,                    -- page_url/...
    title TEXT NOT NULL,
    relevance REAL,                         -- 0..1; NULL while the topic is still being learned
    relevant INTEGER NOT NULL DEFAULT 0,
    status INTEGER NOT NULL,
    type TEXT NOT NULL,
    charset TEXT NOT NULL,
    language TEXT NOT NULL,
    size INTEGER NOT NULL,                  -- bytes of the page file
    sha256 TEXT NOT NULL,
    fetched_at REAL NOT NULL,
    indexed INTEGER NOT NULL DEFAULT 0,     -- in the full-text index
    first_link INTEGER NOT NULL DEFAULT 0,  -- its links are rows first_link .. first_link + link_count - 1 of links
    link_count INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL DEFAULT 0         -- its links wait for a topic that is being learned
);
CREATE INDEX pages_held ON pages (url) WHERE held = 1;

-- The crawl over time, written by the crawl itself.
CREATE TABLE history (
    at REAL PRIMARY KEY,
    waiting INTEGER NOT NULL,
    processing INTEGER NOT NULL,
    error INTEGER NOT NULL,
    done INTEGER NOT NULL,
    discard INTEGER NOT NULL,
    pages INTEGER NOT NULL,
    relevant INTEGER NOT NULL
) WITHOUT ROWID;
