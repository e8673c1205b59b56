import { listCases } from '../../../cases/cases.ts';
import type { Pairings } from '../../../owner/pairing.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { attachmentHeaders } from '../../delivery/exports.ts';
import { interfaceMissing } from '../../delivery/renderer.ts';
import { created, noContent, ok, page } from '../../reply.ts';

type PairingRoutes =
  | 'createPairingCode'
  | 'listPairings'
  | 'revokePairing'
  | 'pair'
  | 'readPairState'
  | 'provePairing'
  | 'readExtension';

interface PairingServices {
  store: Store;
  pairings: Pairings;
  nodeName: string;
  /** Returns the built extension as a ZIP; undefined if it was not built. */
  readExtensionZip: () => Promise<Buffer | undefined>;
}

/** The cases that a browser offers. An owner has few. */
const OFFERED_CASES = 200;

/** Handlers for the browser extension: how it is got, paired and revoked, and what it may know. */
export function pairingHandlers({
  store,
  pairings,
  nodeName,
  readExtensionZip,
}: PairingServices): Pick<Handlers, PairingRoutes> {
  return {
    createPairingCode: () => ({ status: 201, json: pairings.createCode() }),
    listPairings: ({ query, request }) => page(request, query, pairings.list(query)),
    revokePairing: async ({ params }) => {
      await pairings.revoke(params.id ?? '');
      return noContent;
    },
    pair: async ({ body: { code, name }, visitor: { address } }) => {
      const { id, token } = await pairings.pair(code, name, address);
      return created({ id, token, node: nodeName }, '/pair');
    },
    readPairState: ({ visitor: { browser } }) => {
      const cases = listCases(store, { limit: OFFERED_CASES, offset: 0 });
      return ok({
        node: nodeName,
        browser: browser ? { id: browser.id, name: browser.name } : null,
        cases: cases.items.map(({ id, title }) => ({ id, title })),
      });
    },
    provePairing: ({ params, query: { challenge } }) =>
      ok({ proof: pairings.prove(params.id ?? '', challenge) }),
    readExtension: async () => {
      const zip = await readExtensionZip();
      if (!zip) throw interfaceMissing('Then download the extension again.');
      return {
        write: (response) =>
          void response
            .set({
              'Cache-Control': 'no-store',
              ...attachmentHeaders('application/zip', 'strongroom-extension.zip'),
            })
            .send(zip),
      };
    },
  };
}
