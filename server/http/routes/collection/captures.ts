import { mementoImportSchema } from '../../../../shared/collection/captures.ts';
import { MAX_CAPTURE_FILE_BYTES, MAX_JSON_BYTES } from '../../../../shared/limits.ts';
import { Problem } from '../../../../shared/problems.ts';
import { WARC_MEDIA_TYPES } from '../../../../shared/routes/collection/captures.ts';
import type { Captures } from '../../../collection/captures/captures.ts';
import type { Handlers } from '../../app.ts';
import { checkBody, readJson, requireMediaType } from '../../body/readJson.ts';
import { checkedBodyChunks } from '../../body/requestBody.ts';
import { accepted, ok } from '../../reply.ts';

/** Handlers for captures made by third parties. */
export function captureHandlers(captures: Captures): Pick<Handlers, 'importCaptures'> {
  return {
    importCaptures: async ({ query: { observer, wait }, request }) => {
      const mediaType = requireMediaType(request, [...WARC_MEDIA_TYPES, 'application/json']);
      const { job, finished } =
        mediaType === 'application/json'
          ? captures.startTimeMap(
              observer,
              checkBody(mementoImportSchema, await readJson(request, MAX_JSON_BYTES)),
            )
          : await captures.startFile(
              observer,
              checkedBodyChunks(request, MAX_CAPTURE_FILE_BYTES, fileTooLarge),
            );
      return wait === false ? accepted(job) : ok(await finished);
    },
  };
}

function fileTooLarge(): Problem {
  return new Problem('body_too_large', `A capture file can have at most ${MAX_CAPTURE_FILE_BYTES} bytes.`);
}
