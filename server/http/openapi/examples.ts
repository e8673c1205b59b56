/** A request body and the body of the successful response, as JSON. */
export interface Example {
  request?: unknown;
  response?: unknown;
}

const SHA256 = '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae';
const PACK = 'pk_3b1f0c5d7e9a2468ace0';
const LATER_PACK = 'pk_0f1e2d3c4b5a69788796';
const STUDY = 'st_9f86d081884c7d659a2f';
const SOURCE = 'so_60303ae22b998861bce3';
const AT = '2026-11-20T10:14:21.000Z';

const newAlert = {
  name: 'Fees',
  when: { event_types: ['changed'], tags: ['tariffs'], words: ['fee'], not_noise: true },
  to: [{ kind: 'email', address: 'reader@example.org' }],
  every: 'at_once',
};
const alert = { ...newAlert, id: 'al_60303ae22b998861bce3', paused: false, created_at: AT };
const delivery = {
  id: 'ad_60303ae22b998861bce3',
  alert: { id: alert.id, name: alert.name },
  to: newAlert.to[0],
  state: 'sent',
  test: false,
  title: 'Daily levels has changed',
  count: 1,
  events: [1],
  created_at: AT,
  attempts: 1,
  next_attempt_at: null,
  sent_at: AT,
  error: null,
};

const newRecord = {
  pack_format: 1,
  terms_version: '2026-10-01',
  title: 'Sea level at Cuxhaven, 2015 to 2025',
  summary: 'Hourly levels, and the daily mean.',
  authors: [{ name: 'Ada Lovelace', orcid: '0000-0002-1825-0097', affiliation: 'Tide Institute' }],
  license: 'CC-BY-4.0',
  outcome: 'positive',
  method: { text: 'Read the gauge every hour.', link: null, complete: true },
  results: { mean_level_cm: 502.4 },
  keywords: ['sea level'],
  node: null,
  study: STUDY,
  replicates: null,
  supersedes: null,
  related: [{ relation: 'References', identifier: 'doi:10.1234/tides.2014' }],
  files: [{ path: 'levels.csv', sha256: SHA256, bytes: 3, media_type: 'text/csv' }],
};

const pack = {
  ...newRecord,
  id: PACK,
  digest: '3b1f0c5d7e9a2468ace03b1f0c5d7e9a2468ace03b1f0c5d7e9a2468ace03b1f',
  tag: 'replicable',
  replications: [],
  evidence: {
    received_at: AT,
    bytes: 3,
    files: 1,
    reproduced: 0,
    partial: 0,
    failed: 0,
    version: 1,
    superseded_by: null,
  },
  flags: [],
  original_had_method: null,
  ledger_entry: 12,
};

const packComparison = {
  from: { id: PACK, title: newRecord.title, version: 1, digest: pack.digest, received_at: AT },
  to: { id: LATER_PACK, title: newRecord.title, version: 2, digest: SHA256, received_at: AT },
  record: [{ field: 'outcome', before: 'positive', after: 'mixed' }],
  counts: { added: 1, changed: 0, removed: 0, same: 0 },
  files: [
    {
      path: 'levels.csv',
      change: 'added',
      before: null,
      after: { sha256: SHA256, bytes: 3, media_type: 'text/csv' },
    },
  ],
};

const comparedSide = { sha256: SHA256, bytes: 3, content_type: 'text/plain' };
const fileDiff = {
  kind: 'text',
  from: comparedSide,
  to: { ...comparedSide, bytes: 4 },
  made_at: AT,
  tool: { name: 'strongroom-diff', version: '3' },
  truncated: false,
  reason: null,
  summary: { unit: 'words', added: 1, removed: 0 },
  hunks: [
    {
      from_line: 1,
      to_line: 1,
      page: null,
      parts: [
        { op: 'same', text: 'low ' },
        { op: 'added', text: 'tide' },
      ],
    },
  ],
};

const newStudy = { title: 'Tides', question: 'Does the sea level rise?', status: 'running' };
const study = {
  id: STUDY,
  title: 'Tides',
  question: 'Does the sea level rise?',
  description: '',
  node: null,
  status: 'running',
  status_history: [{ status: 'running', at: AT, note: '' }],
  created_at: AT,
  ledger_entry: 11,
  counts: {
    packs: 1,
    by_outcome: { positive: 1, negative: 0, null: 0, mixed: 0 },
    by_verdict: { reproduced: 0, partial: 0, failed: 0 },
  },
};

const source = {
  id: SOURCE,
  url: 'https://www.example.org/levels.csv',
  name: 'Daily levels',
  agency: 'Example Agency',
  tags: ['sea'],
  last_checked_at: AT,
  state: 'available',
  every_minutes: null,
  paused: false,
  added_at: AT,
  last_sha256: SHA256,
  last_event_type: 'first_seen',
  page_label: null,
  capture: 'object',
  page_error: null,
  last_page: null,
  captures_only: false,
};

const event = {
  id: 7,
  source: { id: SOURCE, url: source.url, name: source.name, agency: source.agency, tags: source.tags },
  event_type: 'first_seen',
  observer: 'self',
  observed_at: AT,
  original_observed_at: null,
  sha256: SHA256,
  previous_sha256: null,
  reverts_to: null,
  page_label: null,
  page: null,
  is_noise: null,
  outside: false,
  ledger_entry: 13,
};

const drill = {
  at: AT,
  outcome: 'restored',
  sentence: 'The archive can be restored from this copy.',
  restored: {
    entries: 12,
    objects: 4,
    bytes: 81_920,
    all_objects: 4,
    all_bytes: 81_920,
    records_per_second: 240,
    bytes_per_second: 4_096_000,
    full_restore_seconds: 1,
  },
  needed_bytes: null,
};

const copy = {
  id: 'cp_4f1d2c3b5a6978869504',
  target: 's3://archive-copy/strongroom',
  endpoint: 'https://s3.example.org',
  region: 'eu-1',
  pages: true,
  public_url: 'https://archive-copy.example.org/strongroom/',
  every_minutes: null,
  has_credentials: true,
  has_key: false,
  has_withheld_key: false,
  withheld_left_out: 0,
  withheld_in_no_copy: 0,
  withheld_in_the_clear: 0,
  withheld_cleaned: 0,
  withheld_encrypted: 0,
  paused: null,
  added_at: AT,
  size: 12,
  behind: 1,
  synced_at: AT,
  checked_at: null,
  last_error: null,
  last_drill: drill,
  proven: drill,
};

const newCopy = {
  target: copy.target,
  endpoint: copy.endpoint,
  region: copy.region,
  access_key: 'AKIDEXAMPLE',
  secret_key: 'an example of a secret',
};

const pageOf = (item: object) => ({ items: [item], total: 1, limit: 50, offset: 0, next: null });

/** Examples by the name of the route. A test validates each against its schema. */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  addPack: { request: newRecord, response: pack },
  readPack: { response: pack },
  readPackDrift: {
    response: {
      pack: pack.id,
      since: pack.evidence.received_at,
      items: [
        {
          relation: 'isDerivedFrom',
          identifier: source.url,
          kind: 'source',
          state: 'changed',
          at: '2026-11-21T06:00:00.000Z',
          cited_sha256: SHA256,
          current_sha256: '7'.repeat(64),
          source: { id: SOURCE, url: source.url, name: source.name },
          event: 2,
          only_noise: false,
        },
      ],
    },
  },
  comparePacks: { response: packComparison },
  comparePackFiles: { response: fileDiff },
  listPacks: { response: pageOf(pack) },
  flagPack: { request: { reason: 'other', note: 'The second column is in feet.' } },
  createStudy: { request: newStudy, response: study },
  readStudy: { response: study },
  lookUpDigests: {
    response: { items: [{ sha256: SHA256, bytes: 12, pack: null, source: { id: SOURCE, url: source.url } }] },
  },
  listStudies: { response: pageOf(study) },
  setStudyStatus: { request: { status: 'completed', note: 'All gauges are read.' } },
  addComment: { request: { author: 'Grace Hopper', body: 'Which datum do the levels refer to?' } },
  listSources: { response: pageOf(source) },
  readSource: { response: source },
  addSource: {
    request: { url: source.url, name: source.name, agency: source.agency, tags: source.tags },
  },
  listEvents: { response: pageOf(event) },
  readEvent: {
    response: {
      ...event,
      corroborated_by: ['Internet Archive'],
      neighbours: { newer: 8, older: 6, newer_of_source: null, older_of_source: 2 },
      seen_by: [],
    },
  },
  changeSeen: {
    request: { until: 7 },
    response: { until: 7, exceptions: [], unseen: 0, unseen_noise: 0 },
  },
  listOwnEvents: { response: pageOf(event) },
  readObjectView: {
    response: {
      sha256: SHA256,
      bytes: 3,
      content_type: 'text/csv',
      kind: 'csv',
      file_name: 'levels.csv',
      content: `/archive/${SHA256}`,
      source: { id: SOURCE, url: source.url, name: source.name },
      final_url: source.url,
      observer: 'self',
      observed_at: AT,
      original_observed_at: null,
      at: AT,
      status: 200,
      event: 1,
      older: null,
      newer: null,
    },
  },
  readPageResources: {
    response: {
      sha256: SHA256,
      title: 'Daily levels',
      used: [{ url: 'https://www.example.org/style.css', sha256: SHA256, at: AT }],
      missing: [{ url: 'https://www.example.org/logo.png', reason: 'not_held' }],
      truncated: false,
    },
  },
  changeSettings: { request: { collection_every_minutes: 30, contact_email: 'archive@example.org' } },
  listAlerts: { response: pageOf(alert) },
  addAlert: { request: newAlert, response: alert },
  changeAlert: { request: { every: 'daily' }, response: { ...alert, every: 'daily' } },
  listDeliveries: { response: pageOf(delivery) },
  testAlert: {
    response: {
      deliveries: [{ ...delivery, test: true, events: [], title: 'This is a test of Strongroom' }],
    },
  },
  listCopies: { response: pageOf(copy) },
  addCopy: { request: newCopy, response: { ...copy, size: 0, behind: 13, synced_at: null } },
  changeCopy: { request: { pages: true, public_url: copy.public_url }, response: copy },
  checkCopy: { request: { sample: 100 } },
  setSharing: { request: { mode: 'read', require_invitation: false } },
};
