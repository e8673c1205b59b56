import type { Request } from 'express';
import { MEBIBYTE } from '../../../../shared/limits.ts';
import { Problem } from '../../../../shared/problems.ts';
import { harvest } from '../../../harvesting/harvest.ts';
import { readSitemap, robotsTxt, sitemapIndex } from '../../../harvesting/sitemap.ts';
import type { SettingsStore } from '../../../store/settings.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { readBytes, requireMediaType } from '../../body/readJson.ts';
import { bodyChunks } from '../../body/requestBody.ts';
import { streamReply } from '../../delivery/exports.ts';
import { plainText, type WrittenReply } from '../../reply.ts';
import type { PublicAddress } from '../../security/publicAddress.ts';

type HarvestingRoutes = 'harvest' | 'harvestByForm' | 'readRobotsTxt' | 'readSitemapIndex' | 'readSitemap';

const XML_HEADERS = { 'Cache-Control': 'no-cache', 'Content-Type': 'application/xml; charset=utf-8' };

/** Serves the packs by OAI-PMH while the node is shared. */
export function harvestingHandlers(
  store: Store,
  settings: SettingsStore,
  nodeName: string,
  publicAddress: PublicAddress,
): Pick<Handlers, HarvestingRoutes> {
  const answer = (request: Request, search: URLSearchParams): WrittenReply => {
    const email = settings.current.contact_email || NO_ADDRESS;
    const provider = { origin: publicAddress.originOf(request), publisher: nodeName, email };
    const xml = harvest(store, search, provider);
    return {
      write: (response) =>
        void response
          .status(200)
          .set({
            'Cache-Control': 'no-store',
            'Content-Length': String(Buffer.byteLength(xml)),
            'Content-Type': 'text/xml; charset=utf-8',
          })
          .end(xml),
    };
  };
  const requireShared = () => {
    if (settings.sharing.mode !== 'off') return;
    throw new Problem('not_found', 'This node cannot be harvested until its owner shares it.');
  };
  return {
    harvest: ({ request }) => {
      requireShared();
      return answer(request, new URL(request.originalUrl, 'http://localhost').searchParams);
    },
    harvestByForm: async ({ request }) => {
      requireShared();
      requireMediaType(request, ['application/x-www-form-urlencoded']);
      const body = await readBytes(bodyChunks(request), MEBIBYTE);
      return answer(request, new URLSearchParams(body.toString()));
    },
    readRobotsTxt: ({ request }) => {
      const isShared = settings.sharing.mode !== 'off';
      return plainText(robotsTxt({ isShared, origin: publicAddress.originOf(request) }));
    },
    readSitemapIndex: ({ request }) => {
      requireShared();
      const xml = sitemapIndex(store, publicAddress.originOf(request));
      return { write: (response) => void response.status(200).set(XML_HEADERS).end(xml) };
    },
    readSitemap: ({ params: { name = '' }, request }) => {
      requireShared();
      const pieces = readSitemap(store, name, publicAddress.originOf(request));
      return streamReply(XML_HEADERS, () => pieces);
    },
  };
}

/** The protocol requires an address. This one cannot exist (RFC 2606). */
const NO_ADDRESS = 'no-address-given@strongroom.invalid';
