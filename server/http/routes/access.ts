import type { Request } from 'express';
import { Problem } from '../../../shared/problems.ts';
import { pathOf } from '../../../shared/routes/route.ts';
import { ROUTES } from '../../../shared/routes.ts';
import { listCases } from '../../cases/cases.ts';
import type { SampleSwitch } from '../../config.ts';
import type { Pairings } from '../../owner/pairing.ts';
import { browserName, type OwnerKeys, type OwnerSessions, type SessionPlace } from '../../owner/sessions.ts';
import type { Invitations, SharingSwitch } from '../../owner/sharing.ts';
import type { Store } from '../../store/store.ts';
import type { Handlers } from '../app.ts';
import { attachmentHeaders } from '../delivery/exports.ts';
import { interfaceMissing } from '../delivery/renderer.ts';
import { created, noContent, noContentAfter, ok, page } from '../reply.ts';
import { mayContribute, type Visitor } from '../security/access.ts';
import type { PublicAddress } from '../security/addresses.ts';

interface SessionServices {
  keys: OwnerKeys;
  sessions: OwnerSessions;
  sharing: SharingSwitch;
  publicAddress: PublicAddress;
  nodeName: string;
  version: string;
  sample: SampleSwitch | undefined;
}

/** Handlers for the sessions of the owner, and for what a visitor may do. */
export function sessionHandlers(services: SessionServices) {
  const { keys, sessions, sharing, publicAddress, nodeName, version, sample } = services;
  return {
    readSession: ({ visitor }) =>
      ok({
        owner: visitor.owner,
        may_contribute: mayContribute(visitor, sharing.current),
        node: nodeName,
        version,
        sharing: sharing.current.mode,
        ...(sample &&
          (sample.isOpen || isOwnerHere(visitor)) && { sample: sample.isOpen ? 'open' : 'offered' }),
      }),
    createSignInLink: ({ request }) => {
      const path = `/sign-in/${keys.createSignInCode()}`;
      const { origin } = publicAddress;
      const url = publicAddress.originOf(request) + path;
      return { status: 201, json: { url, ...(origin && { public_url: origin + path }) } };
    },
    createSessionChallenge: () => ok({ challenge: sessions.createChallenge(), node: nodeName }),
    openSession: async ({ body, request }) => {
      const place = sessionPlace(request, publicAddress);
      const { code } = body;
      if (code === undefined) return { status: 201, json: sessions.open(body, place) };
      const label = browserName(request.headers['user-agent']);
      return { status: 201, json: await sessions.begin({ ...body, code }, { keys, place, label }) };
    },
    signOut: async ({ visitor }) => {
      if (visitor.session) await sessions.end(visitor.session);
      return noContent;
    },
    listSessions: ({ query, request, visitor }) =>
      page(request, query, sessions.list(query, visitor.session)),
    endSession: ({ params }) => noContentAfter(sessions.end(params.id ?? '')),
  } satisfies Partial<Handlers>;
}

/**
 * The place of the page that sends a request. A browser says its origin, and programs may say what they like: so behind
 * plain HTTP, where anybody may take the port of a node that moved to another, the port at which the node listens counts
 * too.
 */
function sessionPlace(request: Request, publicAddress: PublicAddress): SessionPlace {
  const origin = request.headers.origin ?? publicAddress.originOf(request);
  const isProtected = origin.startsWith('https:');
  return { origin, port: isProtected ? 0 : (request.socket.localPort ?? 0) };
}

/** Handlers for the sample archive. */
export function sampleHandlers(sample: SampleSwitch | undefined) {
  const change = async (from: boolean, visitor: Visitor) => {
    if (sample?.isOpen !== from || !isOwnerHere(visitor))
      throw new Problem(
        'not_found',
        from ? 'This is not the sample archive.' : 'No sample archive is offered here.',
      );
    try {
      return ok({ sign_in: `/sign-in/${await sample.change()}` });
    } catch (error) {
      throw new Problem('sample_failed', error instanceof Error ? error.message : String(error), {
        cause: error,
      });
    }
  };
  return {
    openSample: ({ visitor }) => change(false, visitor),
    removeSample: ({ visitor }) => change(true, visitor),
  } satisfies Partial<Handlers>;
}

/** Whether the owner is at this machine. From elsewhere, the sample would not be reached, because it is not shared. */
function isOwnerHere({ owner, loopback }: Visitor): boolean {
  return owner && loopback;
}

export function invitationsHandlers(invitations: Invitations) {
  return {
    listInvitations: ({ query, request }) => page(request, query, invitations.list(query)),
    createInvitation: async ({ body }) => {
      const invitation = await invitations.create(body.name);
      return created(invitation, pathOf(ROUTES.readInvitation.path, { id: invitation.id }));
    },
    readInvitation: ({ params }) => ok(invitations.find(params.id ?? '')),
    revokeInvitation: ({ params }) => noContentAfter(invitations.revoke(params.id ?? '')),
  } satisfies Partial<Handlers>;
}

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
export function pairingHandlers({ store, pairings, nodeName, readExtensionZip }: PairingServices) {
  return {
    createPairingCode: () => ({ status: 201, json: pairings.createCode() }),
    listPairings: ({ query, request }) => page(request, query, pairings.list(query)),
    revokePairing: ({ params }) => noContentAfter(pairings.revoke(params.id ?? '')),
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
    provePairing: ({ params, query: { challenge } }) => ok(pairings.prove(params.id ?? '', challenge)),
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
  } satisfies Partial<Handlers>;
}
