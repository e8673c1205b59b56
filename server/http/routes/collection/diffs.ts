import type { Diffs } from '../../../collection/diff/diffs.ts';
import type { Noise } from '../../../collection/noise/noise.ts';
import type { Handlers } from '../../app.ts';
import { sendJsonWithEtag } from '../../delivery/sendJsonWithEtag.ts';
import { accepted, ok } from '../../reply.ts';

/** Handlers for diffs and noise rules. */
export function diffHandlers(
  diffs: Diffs,
  noise: Noise,
): Pick<Handlers, 'readDiff' | 'runNoiseRules' | 'previewNoiseRules'> {
  return {
    readDiff: async ({ params, request }) => sendJsonWithEtag(request, await diffs.diffOf(params.id ?? '')),
    runNoiseRules: ({ params }) => accepted(noise.startRun(params.id ?? '').job),
    previewNoiseRules: async ({ params, body }) => ok(await noise.preview(params.id ?? '', body)),
  };
}
