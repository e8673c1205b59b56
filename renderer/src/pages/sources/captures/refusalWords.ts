import type { CAPTURE_REFUSALS, CaptureRefusal } from '../../../../../shared/captures.ts';
import { failureWords } from '../../../../../shared/failureWords.ts';

const REFUSALS: Record<(typeof CAPTURE_REFUSALS)[number], string> = {
  not_http: 'The address is not one of the web, such as a DNS record.',
  malformed_url: 'What stands as its address is none.',
  credentials_in_url: 'The address holds a user name or password, which would be published with it.',
  malformed_date: 'The record does not say when it was taken, or not exactly.',
  malformed_http: 'What was kept is not an HTTP answer that can be read.',
  unsupported_encoding: 'The body was sent in a way that is not known here.',
  not_get: 'It answered a form or another request than reading, so it is not what the address shows.',
  truncated: 'The body is cut short: not all of it was kept.',
  segmented: 'The record is spread over several segments.',
  too_large: 'The body is larger than an object may be here; the limit is in the settings.',
  digest_mismatch: 'The bytes do not have the digest that the record states.',
  unresolved_revisit: 'It says “as before”, and what was before is not here. Import that file first.',
  no_room: 'There was no room: a limit of the archive or of the disk is reached.',
  damaged: 'The file is cut or corrupt; what follows the fault could not be read.',
  file_too_large: 'The file unpacks to more than is read.',
  no_memento: 'The archive gave no capture, but an error of its own.',
  beyond_limit: 'It lies beyond the limit that was set; import again with a later beginning.',
  host_held: 'The archive asks to be left alone for a while. Import again later.',
  cancelled: 'It was read and not recorded, because the import was cancelled.',
};

function isRefusal(reason: CaptureRefusal): reason is keyof typeof REFUSALS {
  return Object.hasOwn(REFUSALS, reason);
}

/** Why captures were not taken, in a sentence. */
export function refusalWords(reason: CaptureRefusal): string {
  return isRefusal(reason) ? REFUSALS[reason] : `${failureWords(reason, null)}.`;
}
