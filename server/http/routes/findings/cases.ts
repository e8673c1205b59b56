import { pathOf } from '../../../../shared/routes/pathOf.ts';
import { ROUTES } from '../../../../shared/routes.ts';
import {
  addCaseItem,
  changeCase,
  createCase,
  deleteCase,
  listCases,
  readCase,
} from '../../../cases/cases.ts';
import type { EvidenceServices } from '../../../evidence/eventEvidence.ts';
import type { Handlers } from '../../app.ts';
import type { Exports } from '../../delivery/exports.ts';
import { attachmentHeaders } from '../../delivery/streamReply.ts';
import { created, noContent, ok, page } from '../../reply.ts';
import type { PublicAddress } from '../../security/publicAddress.ts';

type CaseRoutes =
  | 'listCases'
  | 'readCase'
  | 'readCaseBag'
  | 'createCase'
  | 'changeCase'
  | 'addCaseItem'
  | 'deleteCase';

interface BagDelivery {
  nodeName: string;
  rendererFolder: string;
  exports: Exports;
  publicAddress: PublicAddress;
}

/** Handlers for cases. */
export function caseHandlers(
  services: EvidenceServices,
  { nodeName, rendererFolder, exports, publicAddress }: BagDelivery,
): Pick<Handlers, CaseRoutes> {
  const { store } = services;
  return {
    listCases: ({ query, request }) => page(request, query, listCases(store, query)),
    readCase: ({ params: { id = '' } }) => ok(readCase(store, id)),
    readCaseBag: async ({ params: { id = '' }, request }) => {
      readCase(store, id);
      const [{ caseBag }, { readEvidenceParts }] = await Promise.all([
        import('../../../cases/caseBag.ts'),
        import('../../../evidence/evidenceHtml.ts'),
      ]);
      const evidenceParts = await readEvidenceParts(rendererFolder);
      const addresses = { origin: publicAddress.originOf(request), nodeName };
      return exports.streamReply(attachmentHeaders('application/zip', `strongroom-case-${id}.zip`), () =>
        caseBag({ ...services, evidenceParts, addresses }, id),
      );
    },
    createCase: async ({ body }) => {
      const added = await createCase(store, body);
      return created(added, pathOf(ROUTES.readCase.path, { id: added.id }));
    },
    changeCase: async ({ params: { id = '' }, body }) => ok(await changeCase(store, id, body)),
    addCaseItem: async ({ params: { id = '' }, body }) => ok(await addCaseItem(store, id, body)),
    deleteCase: async ({ params: { id = '' } }) => {
      await deleteCase(store, id);
      return noContent;
    },
  };
}
