import { pathOf } from '../../../../shared/routes/pathOf.ts';
import { ROUTES } from '../../../../shared/routes.ts';
import { readSignposts } from '../../../archive/citations/signposts.ts';
import { addPack } from '../../../archive/packs/addPack.ts';
import { PackFiles } from '../../../archive/packs/file/packFiles.ts';
import { flagPack } from '../../../archive/packs/flagPack.ts';
import { listPacks } from '../../../archive/packs/listPacks.ts';
import { readPackText, requirePack } from '../../../archive/packs/readPack.ts';
import { verifyPack } from '../../../archive/packs/verifyPack.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { readPackUpload } from '../../body/packUpload.ts';
import { sendPackFile } from '../../delivery/sendPackFile.ts';
import { linkHeader } from '../../delivery/typedLinks.ts';
import { createdText, ok, okText, pageOfTexts } from '../../reply.ts';
import type { PublicAddress } from '../../security/publicAddress.ts';

type PackRoutes = 'listPacks' | 'addPack' | 'readPack' | 'readPackFile' | 'verifyPack' | 'flagPack';

export function packsHandlers(store: Store, publicAddress: PublicAddress): Pick<Handlers, PackRoutes> {
  const addressOf = (id: string) => pathOf(ROUTES.readPack.path, { id });
  const packFiles = new PackFiles(store);
  return {
    listPacks: ({ query, request }) => pageOfTexts(request, query, listPacks(store, query)),
    addPack: async ({ request, admitted }) => {
      const upload = await readPackUpload(request, store);
      const { id, created, text } = await addPack(admitted.store, {
        ...upload,
        reserveSpace: admitted.reserveSpace,
        repairStore: store,
      });
      return created ? createdText(text, addressOf(id)) : okText(text);
    },
    readPack: ({ params: { id = '' }, request }) => ({
      ...okText(readPackText(store.read, id)),
      headers: { Link: linkHeader(readSignposts(store, id, publicAddress.originOf(request))) },
    }),
    readPackFile: ({ params: { id = '' }, request }) => {
      const pack = requirePack(store.read, id);
      return { write: (response) => sendPackFile(request, response, pack, packFiles) };
    },
    verifyPack: async ({ params }) => ok(await verifyPack(store, params.id ?? '')),
    flagPack: async ({ params: { id = '' }, body, admitted }) => {
      await flagPack(admitted.store, id, body);
      return createdText(readPackText(store.read, id), addressOf(id));
    },
  };
}
