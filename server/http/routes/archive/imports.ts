import type { Request } from 'express';
import {
  CITATION_MEDIA_TYPES,
  type CitationFormat,
  MAX_CITATION_FILE_BYTES,
} from '../../../../shared/archive/recordImport.ts';
import { pathOf } from '../../../../shared/routes/route.ts';
import { ROUTES } from '../../../../shared/routes.ts';
import type { Drafts } from '../../../archive/drafts/drafts.ts';
import { fillDraftRecord, listCitationEntries } from '../../../repositories/citations/citations.ts';
import type { Imports } from '../../../repositories/imports.ts';
import type { Handlers } from '../../app.ts';
import { readBytes, requireMediaType } from '../../body/readJson.ts';
import { bodyChunks } from '../../body/requestBody.ts';
import { accepted, created, ok } from '../../reply.ts';

type ImportRoutes = 'importRecord' | 'listCitationEntries' | 'fillDraftRecord';

/** Handlers for records of repositories, and of reference managers, as drafts. */
export function importHandlers(imports: Imports, drafts: Drafts): Pick<Handlers, ImportRoutes> {
  return {
    importRecord: async ({ query: { wait, dry_run }, body, request }) => {
      if (dry_run) {
        const left = new AbortController();
        request.res?.once('close', () => left.abort());
        return ok(await imports.plan(body, left.signal));
      }
      const { job, finished } = imports.start(body);
      if (!wait) return accepted(job);
      const result = await finished;
      return created(result, pathOf(ROUTES.readDraft.path, { id: result.draft }));
    },
    listCitationEntries: async ({ request }) => ok(await listCitationEntries(await citationsIn(request))),
    fillDraftRecord: async ({ params: { id = '' }, query: { entry }, request }) =>
      ok(await fillDraftRecord(drafts, id, await citationsIn(request), entry)),
  };
}

async function citationsIn(request: Request): Promise<{ format: CitationFormat; bytes: Uint8Array }> {
  const mediaType = requireMediaType(request, Object.keys(CITATION_MEDIA_TYPES));
  const bytes = await readBytes(bodyChunks(request), MAX_CITATION_FILE_BYTES);
  return { format: CITATION_MEDIA_TYPES[mediaType] ?? 'csl', bytes };
}
