import type { Request } from 'express';
import {
  CITATION_MEDIA_TYPES,
  type CitationFormat,
  MAX_CITATION_FILE_BYTES,
} from '../../../../shared/archive/recordImport.ts';
import { pathOf } from '../../../../shared/routes/route.ts';
import { ROUTES } from '../../../../shared/routes.ts';
import type { Drafts } from '../../../archive/drafts/drafts.ts';
import { listPackDeposits } from '../../../archive/packs/packRows.ts';
import { fillDraftRecord, listCitationEntries } from '../../../repositories/citations/citations.ts';
import type { Deposits } from '../../../repositories/deposit/deposits.ts';
import type { Imports } from '../../../repositories/importRecord.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { readBytes, requireMediaType } from '../../body/readJson.ts';
import { bodyChunks } from '../../body/requestBody.ts';
import { accepted, created, noContent, ok, page } from '../../reply.ts';

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

type DepositRoutes =
  | 'listRepositories'
  | 'addRepository'
  | 'removeRepository'
  | 'listPackDeposits'
  | 'listDeposits'
  | 'deposit';

/** Handlers for repositories and the deposits in them. */
export function depositHandlers(store: Store, deposits: Deposits): Pick<Handlers, DepositRoutes> {
  const at = (pack: string) => `/manage/deposits?pack=${pack}`;
  return {
    listRepositories: async ({ query, request }) =>
      page(request, query, await deposits.listRepositories(query)),
    addRepository: async ({ body }) => {
      const repository = await deposits.addRepository(body);
      return created(repository, `/manage/repositories/${repository.id}`);
    },
    removeRepository: async ({ params }) => {
      await deposits.removeRepository(params.id ?? '');
      return noContent;
    },
    listPackDeposits: ({ query, request }) => page(request, query, listPackDeposits(store.read, query)),
    listDeposits: ({ query, request }) => page(request, query, deposits.list(query, query.pack)),
    deposit: async ({ query: { wait }, body }) => {
      const begun = await deposits.deposit(body);
      if ('id' in begun) return created(begun, at(begun.pack));
      if (!wait) return accepted(begun.job);
      const deposit = await deposits.ended(begun, body);
      return created(deposit, at(deposit.pack));
    },
  };
}
