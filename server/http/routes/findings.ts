import { Problem } from '../../../shared/problems.ts';
import { pathOf } from '../../../shared/routes/route.ts';
import { ROUTES } from '../../../shared/routes.ts';
import { addCaseItem, changeCase, createCase, deleteCase, listCases, readCase } from '../../cases/cases.ts';
import type { EvidenceServices } from '../../evidence/collectEvidence.ts';
import {
  addFinding,
  listFindings,
  listFindingTags,
  readFinding,
  withdrawFinding,
} from '../../findings/findings.ts';
import type { FindsPassages } from '../../findings/passageAnchors.ts';
import {
  listSealedFindings,
  type OwnerEncryption,
  readSealedFinding,
  revealFinding,
  sealFinding,
} from '../../findings/sealed.ts';
import type { Store } from '../../store/store.ts';
import type { Handlers } from '../app.ts';
import { attachmentHeaders, CSV_TYPE, type Exports } from '../delivery/exports.ts';
import { created, noContentAfter, ok, page } from '../reply.ts';
import type { PublicAddress } from '../security/addresses.ts';

const JSON_LD_TYPE = 'application/ld+json; profile="http://www.w3.org/ns/anno.jsonld"';

/** Handlers for findings. */
export function findingHandlers(
  store: Store,
  nodeName: string,
  {
    exports,
    publicAddress,
    passages,
    encryption,
  }: {
    exports: Exports;
    publicAddress: PublicAddress;
    passages: FindsPassages;
    encryption: OwnerEncryption;
  },
) {
  const address = (id: string) => pathOf(ROUTES.readFinding.path, { id });
  return {
    listFindings: async ({ query: { format, ...query }, request, visitor }) => {
      if (format === undefined) return page(request, query, listFindings(store, query, visitor));
      const reading = { store, reader: visitor };
      const { findingsCsv, findingsJsonLd } = await import('../../findings/annotations.ts');
      if (format === 'csv')
        return exports.streamReply(attachmentHeaders(CSV_TYPE, 'findings.csv'), () =>
          findingsCsv(reading, query),
        );
      if (format !== 'jsonld')
        throw new Problem('invalid_format', 'Set format to csv or jsonld, or omit it to get JSON.');
      const addresses = { origin: publicAddress.originOf(request), nodeName };
      return exports.streamReply(attachmentHeaders(JSON_LD_TYPE, 'findings.jsonld'), () =>
        findingsJsonLd(reading, query, addresses),
      );
    },
    listFindingTags: () => ok(listFindingTags(store)),
    listSealedFindings: ({ query, request, visitor }) =>
      page(request, query, listSealedFindings(store, query, visitor)),
    readFinding: ({ params: { id = '' }, visitor }) =>
      ok(readSealedFinding(store, id, visitor) ?? readFinding(store, id, visitor)),
    addFinding: async ({ body: { sealed, ...added } }) => {
      const finding = sealed
        ? await sealFinding(store, added, { passages, encryption })
        : await addFinding(store, added, passages);
      return created(finding, address(finding.id));
    },
    withdrawFinding: async ({ params: { id = '' }, body }) => {
      const withdrawal = await withdrawFinding(store, id, body.reason);
      return created(withdrawal, address(withdrawal.id));
    },
    revealFinding: async ({ params: { id = '' } }) => created(await revealFinding(store, id), address(id)),
  } satisfies Partial<Handlers>;
}

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
) {
  const { store } = services;
  return {
    listCases: ({ query, request }) => page(request, query, listCases(store, query)),
    readCase: ({ params: { id = '' } }) => ok(readCase(store, id)),
    readCaseBag: async ({ params: { id = '' }, visitor: reader }) => {
      readCase(store, id);
      const [{ caseBag }, { readEvidenceParts }] = await Promise.all([
        import('../../cases/caseBag.ts'),
        import('../../evidence/evidenceParts.ts'),
      ]);
      const evidenceParts = await readEvidenceParts(rendererFolder);
      // The bag is sealed, so no address in it may come from the request. Without a public address, the node is named by a URN.
      const origin = publicAddress.origin ?? `urn:strongroom:${services.checkpoints.key.name}`;
      const addresses = { origin, nodeName };
      return exports.streamReply(attachmentHeaders('application/zip', `strongroom-case-${id}.zip`), () =>
        caseBag({ ...services, evidenceParts, addresses, reader }, id),
      );
    },
    createCase: async ({ body }) => {
      const added = await createCase(store, body);
      return created(added, pathOf(ROUTES.readCase.path, { id: added.id }));
    },
    changeCase: async ({ params: { id = '' }, body }) => ok(await changeCase(store, id, body)),
    addCaseItem: async ({ params: { id = '' }, body }) => ok(await addCaseItem(store, id, body)),
    deleteCase: ({ params: { id = '' } }) => noContentAfter(deleteCase(store, id)),
  } satisfies Partial<Handlers>;
}
