import type { CAPTURE_REFUSALS, CaptureRefusal } from '../../../../../shared/collection/captures.ts';
import { failureWords } from '../../../../../shared/collection/failureWords.ts';

const REFUSALS: Record<(typeof CAPTURE_REFUSALS)[number], string> = {
  not_http: 'The URL is not a web address (for example, a DNS record).',
  malformed_url: 'The URL is not valid.',
  credentials_in_url: 'The URL contains a user name or password, which would be published.',
  malformed_date: 'The record has no exact capture time.',
  malformed_http: 'The content is not a readable HTTP response.',
  unsupported_encoding: 'The body uses an unsupported transfer encoding.',
  not_get:
    'The response belongs to a form submission or another request that is not a GET, so it is not what the URL shows.',
  truncated: 'The body is truncated.',
  segmented: 'The record is split into several segments.',
  too_large: 'The body exceeds the maximum object size in the settings.',
  digest_mismatch: 'The bytes do not match the digest in the record.',
  unresolved_revisit:
    'The record refers to an earlier capture that is not archived here. Import that file first.',
  no_room: 'The archive limit or the disk is full.',
  damaged: 'The file is truncated or corrupt. The part after the fault could not be read.',
  file_too_large: 'The uncompressed file exceeds the limit.',
  no_memento: 'The archive returned an error instead of the capture.',
  beyond_limit: 'The import limit was reached. Import again with a later start date.',
  host_held: 'The archive asked to wait. Import again later.',
  cancelled: 'The import was cancelled before this capture was recorded.',
};

function isRefusal(reason: CaptureRefusal): reason is keyof typeof REFUSALS {
  return Object.hasOwn(REFUSALS, reason);
}

/** Why captures were rejected. */
export function rejectionReason(reason: CaptureRefusal): string {
  return isRefusal(reason) ? REFUSALS[reason] : `${failureWords(reason, null)}.`;
}
