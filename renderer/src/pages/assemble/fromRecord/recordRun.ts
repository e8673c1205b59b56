import { doiOf, type ImportRequest } from '../../../../../shared/archive/recordImport.ts';
import { call } from '../../../api/client.ts';
import { createJobRun } from '../../../state/jobs.ts';

/** The import that was started here last. It goes on when its window is closed. */
export const useRecordRun = createJobRun(async (body: ImportRequest) => {
  const started = await call('importRecord', { body });
  return 'kind' in started ? started.id : undefined;
});

/** Returns what was typed as a request: a DOI in any form, or an address. */
export function requestOf(typed: string): ImportRequest {
  const text = typed.trim();
  const doi = doiOf(text);
  return doi === undefined ? { url: text } : { doi };
}
