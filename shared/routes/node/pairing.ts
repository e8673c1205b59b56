import { z } from 'zod';
import {
  pairChallengeSchema,
  pairedBrowserSchema,
  pairedSchema,
  pairingCodeSchema,
  pairProofSchema,
  pairRequestSchema,
  pairStateSchema,
} from '../../node/pairing.ts';
import { listQuery, pageOf } from '../../values/list.ts';
import { jsonBody, manageRoute, NO_BODY, route } from '../route.ts';

/** The browser extension: how it is got, and how a browser is paired with the node. */
export const pairingRoutes = {
  createPairingCode: manageRoute({
    method: 'POST',
    path: '/manage/pairings',
    summary: 'Create a code that pairs one browser with the node, once',
    description:
      'It is valid for ten minutes, replaces the code before it, and takes no more codes from an address that sent five wrong ones.',
    body: NO_BODY,
    responses: { 201: { description: 'The code', schema: pairingCodeSchema } },
    problems: ['too_many_browsers'],
  }),
  listPairings: manageRoute({
    method: 'GET',
    path: '/manage/pairings',
    summary: 'List the browsers that are paired with the node',
    query: z.strictObject(listQuery),
    responses: {
      200: { description: 'A page of browsers, newest first', schema: pageOf(pairedBrowserSchema) },
    },
  }),
  revokePairing: manageRoute({
    method: 'DELETE',
    path: '/manage/pairings/{id}',
    summary: 'Revoke a paired browser: its token stops working immediately',
    responses: { 204: { description: 'The browser is no longer paired' } },
    problems: ['not_found'],
  }),
  pair: route({
    method: 'POST',
    path: '/pair',
    access: 'open',
    tag: 'Node',
    summary: 'Pair a browser with the node, by a code that the owner shows',
    description:
      'Accepted on the node’s machine and over HTTPS only. The token can hand in, watch an address, and read the state of the pairing. It opens nothing else.',
    body: jsonBody(pairRequestSchema),
    responses: { 201: { description: 'The token, shown only in this response', schema: pairedSchema } },
    problems: ['pairing_refused'],
  }),
  readPairState: route({
    method: 'GET',
    path: '/pair',
    access: 'paired',
    tag: 'Node',
    summary: 'Read what a paired browser may know: the node, and the cases that a page can be put into',
    responses: { 200: { description: 'The state of the pairing', schema: pairStateSchema } },
  }),
  provePairing: route({
    method: 'GET',
    path: '/pair/{id}/proof',
    access: 'open',
    tag: 'Node',
    summary: 'Have the node prove that it knows a paired browser, before the browser sends anything',
    query: pairChallengeSchema,
    responses: { 200: { description: 'The proof', schema: pairProofSchema } },
    problems: ['not_found'],
  }),
  readExtension: route({
    method: 'GET',
    path: '/extension',
    access: 'read',
    tag: 'Node',
    summary: 'Download the browser extension',
    responses: { 200: { description: 'The extension, as a ZIP', mediaTypes: ['application/zip'] } },
    problems: ['interface_missing'],
  }),
};
