import { errorCode } from '../../../shared/values/errorCode.ts';

/** Whether a pipeline to a response failed because the reader disconnected. */
export function isPrematureClose(error: unknown): boolean {
  return errorCode(error) === 'ERR_STREAM_PREMATURE_CLOSE';
}
