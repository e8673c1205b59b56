/**
 * All problems, each with a stable code, an HTTP status and a title (RFC 9457). Services throw `Problem`; only
 * `server/http/problems.ts` turns one into a response.
 */
export const PROBLEMS = {
  invalid_request: { status: 400, title: 'Not a valid HTTP request' },
  invalid_digest: { status: 400, title: 'Not a SHA-256 digest' },
  invalid_json: { status: 400, title: 'Not valid JSON' },
  invalid_limit: { status: 400, title: 'The limit is out of range' },
  invalid_offset: { status: 400, title: 'The offset is out of range' },
  invalid_parameter: { status: 400, title: 'A query parameter has an invalid value' },
  unknown_parameter: { status: 400, title: 'Unknown query parameter' },
  invalid_format: { status: 400, title: 'Unknown format' },
  invalid_datetime: { status: 400, title: 'Not an HTTP date' },
  invalid_path: { status: 400, title: 'The path cannot be read' },
  invalid_checkpoint: { status: 400, title: 'Not a request to a witness' },
  invalid_multipart: { status: 400, title: 'The multipart body cannot be read' },
  incomplete_body: { status: 400, title: 'The body ended early' },
  invalid_digest_header: { status: 400, title: 'The digest header cannot be read' },
  owner_required: { status: 401, title: 'Only the owner may do this' },
  invitation_required: { status: 401, title: 'An invitation is required' },
  not_shared: { status: 403, title: 'This node is not shared' },
  foreign_origin: { status: 403, title: 'Pages from other origins may not change anything here' },
  pairing_refused: { status: 403, title: 'This pairing code is not valid' },
  sign_in_refused: { status: 403, title: 'This sign-in link is not valid' },
  observation_refused: { status: 403, title: 'This node does not fetch that address for you' },
  checkpoint_not_signed: { status: 403, title: 'The checkpoint is not signed by its log' },
  unknown_log: { status: 404, title: 'This node is not a witness of that log' },
  not_found: { status: 404, title: 'Not found' },
  no_passage: { status: 404, title: 'The finding quotes no passage that can be proven' },
  nothing_to_compare: { status: 404, title: 'There are not two versions to compare' },
  not_derivable: { status: 404, title: 'Nothing can be derived from this object' },
  method_not_allowed: { status: 405, title: 'This path does not support that method' },
  not_acceptable: { status: 406, title: 'None of the requested formats is available' },
  body_timeout: { status: 408, title: 'The body took too long to arrive' },
  parent_missing: { status: 409, title: 'The parent subject does not exist' },
  node_exists: { status: 409, title: 'A subject with this path already exists' },
  invalid_transition: { status: 409, title: 'The study cannot change to that status' },
  source_exists: { status: 409, title: 'This address is already watched' },
  tls_required: { status: 403, title: 'This needs an encrypted connection' },
  too_many_browsers: { status: 409, title: 'Too many browsers are paired' },
  sample_failed: { status: 409, title: 'The sample archive could not be opened or removed' },
  port_taken: { status: 409, title: 'The port is in use by another program' },
  collection_running: { status: 409, title: 'A collection is running' },
  archive_read_only: { status: 409, title: 'The archive is read-only' },
  copy_failed: { status: 502, title: 'The copy could not be read or written' },
  copy_needed: { status: 409, title: 'The copy has objects that are nowhere else' },
  no_authority: { status: 409, title: 'There is no timestamp authority' },
  authority_failed: { status: 502, title: 'No timestamp authority gave a valid timestamp' },
  log_exists: { status: 409, title: 'This node is already a witness of that log' },
  copy_readable: { status: 409, title: 'The copy can be read and is not lost' },
  copy_exists: { status: 409, title: 'This copy already exists' },
  peer_failed: { status: 502, title: 'The peer could not be read' },
  peer_exists: { status: 409, title: 'This node is already a peer' },
  key_mismatch: { status: 409, title: 'The node has a different key' },
  certificate_mismatch: { status: 409, title: 'The node has a different certificate' },
  peer_rewritten: { status: 409, title: 'The peer rewrote its ledger' },
  drafts_full: { status: 409, title: 'There is no space for more drafts' },
  draft_changed: { status: 409, title: 'The draft has changed since it was read' },
  draft_published: { status: 409, title: 'The draft is published' },
  publishing_cancelled: { status: 409, title: 'The publishing was cancelled' },
  finding_superseded: { status: 409, title: 'The finding is no longer current' },
  finding_sealed: { status: 409, title: 'The finding is sealed' },
  finding_not_sealed: { status: 409, title: 'The finding is not sealed' },
  owner_key_invalid: { status: 409, title: 'The key of the owner cannot be read' },
  sealed_unreadable: { status: 409, title: 'The record of the sealed finding cannot be read here' },
  case_changed: { status: 409, title: 'The case has changed since it was read' },
  case_full: { status: 409, title: 'The case already has the maximum number of items' },
  profiles_full: { status: 409, title: 'There are too many profiles' },
  not_the_old_folder: { status: 409, title: 'The old folder cannot be removed' },
  not_failed: { status: 409, title: 'Only a failed delivery can be sent again' },
  id_taken: { status: 409, title: 'Another record has this id' },
  released: { status: 410, title: 'These bytes were given up' },
  precondition_failed: { status: 412, title: 'A precondition of the request is not met' },
  body_too_large: { status: 413, title: 'The body is too large' },
  pack_too_large: { status: 413, title: 'The pack is too large' },
  unsupported_media_type: { status: 415, title: 'This media type is not supported here' },
  range_not_satisfiable: { status: 416, title: 'The range is outside the object' },
  unknown_host: { status: 421, title: 'The Host header does not name this node' },
  invalid_field: { status: 422, title: 'A field is invalid' },
  unknown_field: { status: 422, title: 'A field is unknown' },
  not_canonical: { status: 422, title: 'The JSON has no canonical form' },
  terms_not_accepted: { status: 422, title: 'The terms were not accepted' },
  unknown_node: { status: 422, title: 'No such subject' },
  unknown_study: { status: 422, title: 'No such study' },
  unknown_pack: { status: 422, title: 'No such pack' },
  unknown_blob: { status: 422, title: 'The archive does not have this file' },
  unknown_comment: { status: 422, title: 'No such comment' },
  unknown_target: { status: 422, title: 'The archive does not have this item' },
  unknown_finding: { status: 422, title: 'No such finding' },
  unknown_source: { status: 422, title: 'No such source' },
  inconsistent_checkpoint: {
    status: 422,
    title: 'The log does not continue the one that was cosigned before',
  },
  digest_mismatch: { status: 422, title: 'The bytes do not match their digest' },
  files_mismatch: { status: 422, title: 'The files do not match the record' },
  private_address: { status: 422, title: 'The address is private' },
  page_failed: { status: 422, title: 'The page could not be drawn' },
  preview_failed: { status: 422, title: 'The address could not be fetched' },
  unsafe_path: { status: 422, title: 'The pack file contains an unsafe path' },
  symlink_entry: { status: 422, title: 'The pack file contains a symbolic link' },
  encrypted_entry: { status: 422, title: 'The pack file contains an encrypted entry' },
  duplicate_entry: { status: 422, title: 'The pack file contains two entries with the same name' },
  unknown_entry: { status: 422, title: 'The pack file contains a file that the format does not allow' },
  manifest_mismatch: { status: 422, title: 'The manifest does not match the files' },
  excessive_compression: { status: 422, title: 'The pack file expands beyond the limit' },
  invalid_name_encoding: { status: 422, title: 'The pack file contains a name that is not UTF-8' },
  invalid_pack_file: { status: 422, title: 'Not a pack file' },
  invalid_set: { status: 422, title: 'Not a valid set' },
  invalid_profile: { status: 422, title: 'The profile cannot be kept' },
  invalid_list: { status: 422, title: 'The list of sources cannot be read' },
  record_unreadable: { status: 422, title: 'The record cannot be read' },
  invalid_citations: { status: 422, title: 'The citations cannot be read' },
  several_citations: { status: 422, title: 'The file has several citations' },
  invalid_capture: { status: 422, title: 'The captures cannot be read' },
  rate_limited: { status: 429, title: 'Too many writes in too short a time' },
  withheld: { status: 451, title: 'These bytes are not shown to visitors' },
  head_too_large: { status: 431, title: 'The URL and the headers are too large' },
  internal_error: { status: 500, title: 'Something failed on this node' },
  blob_damaged: { status: 500, title: 'Stored bytes are missing or damaged' },
  profile_key_damaged: { status: 500, title: 'The key of the profiles is missing or damaged' },
  database_damaged: { status: 500, title: 'The database is damaged' },
  storage_failed: { status: 503, title: 'The node has stopped writing' },
  clock_ahead: { status: 503, title: 'The clock of this machine jumped ahead' },
  data_folder_away: { status: 503, title: 'The disk of the archive cannot be reached' },
  copy_unreachable: { status: 503, title: 'The bytes are in a copy that cannot be reached' },
  busy: { status: 503, title: 'Too many exports or event streams are open' },
  derivation_busy: { status: 503, title: 'Too many texts and diffs are being computed' },
  interface_missing: { status: 503, title: 'The interface was not built' },
  shutting_down: { status: 503, title: 'The node is shutting down' },
  data_cap_reached: { status: 507, title: 'The archive is full' },
  disk_nearly_full: { status: 507, title: 'The disk is nearly full' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One invalid field: a JSON Pointer (RFC 6901) into the request body, and a sentence. */
export interface FieldError {
  path: string;
  message: string;
}

/** Further content of the response to a problem. */
export interface ProblemExtra {
  errors?: FieldError[];
  /** Additional members of the problem document, such as `allowed` for an invalid transition. */
  members?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** A refusal or failure with a code from `PROBLEMS`. `detail` is one sentence that says what to do. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly extra: ProblemExtra;

  constructor(code: ProblemCode, detail: string, extra: ProblemExtra = {}) {
    super(detail, extra.cause === undefined ? undefined : { cause: extra.cause });
    this.name = 'Problem';
    this.code = code;
    this.extra = extra;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

/** The body of an `application/problem+json` response (RFC 9457). */
export interface ProblemDocument {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ProblemCode;
  errors?: FieldError[];
  [member: string]: unknown;
}

/** What a node says where it has no route. A command tells by it that the node is of another version. */
export const NOTHING_AT_PATH = 'There is nothing at this path.';

/** Returns the JSON Pointer (RFC 6901) for the keys and indexes that lead to a value. An empty list is the document. */
export function jsonPointer(steps: readonly PropertyKey[]): string {
  return steps.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
