import type { Request } from 'express';
import {
  CITATION_FORMATS,
  type CitationFormat,
  DESCRIPTOR_FORMATS,
  type DescriptorFormat,
  LINKSET_FORMATS,
  type LinksetFormat,
  WEB_FORMATS,
  type WebFormat,
} from '../../../../shared/archive/citation.ts';
import { MEBIBYTE } from '../../../../shared/limits.ts';
import { Problem } from '../../../../shared/problems.ts';
import { cite, citeAs, describeTables } from '../../../citations/citations.ts';
import type { ObservationServices } from '../../../citations/citedObservations.ts';
import { readLinkset } from '../../../citations/signposts.ts';
import { harvest } from '../../../harvesting/harvest.ts';
import { readSitemap, robotsTxt, sitemapIndex } from '../../../harvesting/sitemap.ts';
import type { SettingsStore } from '../../../store/settings.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { readBytes, requireMediaType } from '../../body/readJson.ts';
import { bodyChunks } from '../../body/requestBody.ts';
import { streamReply } from '../../delivery/exports.ts';
import { linksetJson, linksetText } from '../../delivery/itemPages.ts';
import { ok, plainText, type WrittenReply } from '../../reply.ts';
import { isLoopback, type PublicAddress } from '../../security/addresses.ts';

export function citationsHandlers(
  services: ObservationServices,
  nodeName: string,
  publicAddress: PublicAddress,
) {
  const { store } = services;
  const contextOf = (request: Request) => ({
    origin: publicAddress.originOf(request),
    publisher: nodeName,
  });
  // A citation is for others, so it has the public address even if the owner asks on this machine.
  const citedFrom = (request: Request) => {
    const { origin } = contextOf(request);
    const isLocal = isLoopback(new URL(origin).hostname.replace(/^\[|\]$/g, ''));
    const printedOrigin = publicAddress.origin ?? (isLocal ? undefined : origin);
    return { origin, publisher: nodeName, printedOrigin };
  };
  return {
    readCitation: async ({ params, query, request, visitor: reader }) => {
      const { format, ...retrieval } = query;
      const asked = { id: params.id ?? '', query: retrieval, reader };
      const from = citedFrom(request);
      const form = format === undefined ? acceptedForm(request) : formatOf(format);
      if (form === 'all') return { ...ok(await cite(services, asked, from)), headers: { Vary: 'Accept' } };
      const text = isDescriptor(form)
        ? await describeTables(store, asked, from, form)
        : await citeAs(services, asked, from, form);
      const { ending, mediaType } = FILES[form];
      return {
        write: (response) => {
          response.set({
            'Cache-Control': 'no-store',
            'Content-Disposition': `inline; filename="${asked.id}${ending}"`,
            Vary: 'Accept',
          });
          response.setHeader('Content-Type', mediaType);
          response.setHeader('Content-Length', Buffer.byteLength(text));
          response.end(text);
        },
      };
    },
    readLinkset: ({ params: { id = '' }, query, request }) => {
      const format = query.format === undefined ? acceptedLinkset(request) : linksetFormatOf(query.format);
      const linkset = readLinkset(store, id, contextOf(request));
      const text = format === 'json' ? JSON.stringify(linksetJson(linkset)) : linksetText(linkset);
      return {
        write: (response) => {
          response.set({ 'Cache-Control': 'no-store', Vary: 'Accept' });
          response.setHeader('Content-Type', LINKSET_FORMATS[format]);
          response.setHeader('Content-Length', Buffer.byteLength(text));
          response.end(text);
        },
      };
    },
  } satisfies Partial<Handlers>;
}

const LINKSET_NAMES = Object.keys(LINKSET_FORMATS) as LinksetFormat[];

function linksetFormatOf(format: string): LinksetFormat {
  const known = LINKSET_NAMES.find((each) => each === format);
  if (known) return known;
  throw new Problem('invalid_format', `Set format to ${LINKSET_NAMES.join(' or ')}, or omit it.`);
}

/** A client that accepts any JSON gets a linkset as JSON. */
function acceptedLinkset(request: Request): LinksetFormat {
  const accepted = request.accepts([...Object.values(LINKSET_FORMATS), 'application/json']);
  if (accepted === LINKSET_FORMATS.text) return 'text';
  if (accepted !== false) return 'json';
  throw new Problem(
    'not_acceptable',
    `The available formats are ${Object.values(LINKSET_FORMATS).join(' and ')}.`,
  );
}

type Form = CitationFormat | WebFormat | DescriptorFormat;

const UTF_8 = '; charset=utf-8';
const FILES: Record<Form, { ending: string; mediaType: string }> = {
  bibtex: { ending: '.bib', mediaType: CITATION_FORMATS.bibtex + UTF_8 },
  ris: { ending: '.ris', mediaType: CITATION_FORMATS.ris + UTF_8 },
  'csl-json': { ending: '.csl.json', mediaType: CITATION_FORMATS['csl-json'] },
  apa: { ending: '.txt', mediaType: CITATION_FORMATS.apa + UTF_8 },
  datacite: { ending: '.datacite.json', mediaType: CITATION_FORMATS.datacite },
  pwid: { ending: '.pwid.txt', mediaType: WEB_FORMATS.pwid + UTF_8 },
  robust_link: { ending: '.html', mediaType: WEB_FORMATS.robust_link + UTF_8 },
  croissant: {
    ending: '.croissant.json',
    mediaType: `${DESCRIPTOR_FORMATS.croissant}; profile="http://mlcommons.org/croissant/1.0"`,
  },
  frictionless: { ending: '.datapackage.json', mediaType: DESCRIPTOR_FORMATS.frictionless },
};

const FORMATS = Object.keys(FILES) as Form[];

function isDescriptor(form: Form): form is DescriptorFormat {
  return Object.hasOwn(DESCRIPTOR_FORMATS, form);
}

function formatOf(format: string): Form {
  const known = FORMATS.find((each) => each === format);
  if (known) return known;
  throw new Problem('invalid_format', `Set format to ${FORMATS.join(', ')}, or omit it to get all formats.`);
}

/** The formats that can be asked for by `Accept`. */
const MEDIA_TYPES: Record<Exclude<Form, WebFormat>, string> = { ...CITATION_FORMATS, ...DESCRIPTOR_FORMATS };

/** The media types in order of preference. */
const OFFERED: readonly (readonly [string, Form | 'all'])[] = [
  ['application/json', 'all'],
  ...Object.entries(MEDIA_TYPES).map(([format, mediaType]) => [mediaType, format as Form] as const),
  // The form that content negotiation of DOIs uses to select a style.
  ['text/x-bibliography;style=apa', 'apa'],
  ['text/x-bibliography;style=apa;locale=en-US', 'apa'],
];

function acceptedForm(request: Request): Form | 'all' {
  const accepted = request.accepts(OFFERED.map(([mediaType]) => mediaType));
  const offer = OFFERED.find(([mediaType]) => mediaType === accepted);
  if (offer) return offer[1];
  throw new Problem(
    'not_acceptable',
    `The available formats are application/json, ${Object.values(MEDIA_TYPES).join(', ')}.`,
  );
}

const XML_HEADERS = { 'Cache-Control': 'no-cache', 'Content-Type': 'application/xml; charset=utf-8' };

/** Serves the packs by OAI-PMH while the node is shared. */
export function harvestingHandlers(
  store: Store,
  settings: SettingsStore,
  nodeName: string,
  publicAddress: PublicAddress,
) {
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
  } satisfies Partial<Handlers>;
}

/** The protocol requires an address. This one cannot exist (RFC 2606). */
const NO_ADDRESS = 'no-address-given@strongroom.invalid';
