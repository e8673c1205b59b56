import { foundTextSchema, objectTextSchema, searchQuery } from '../../collection/derived.ts';
import {
  compareObjectsQuery,
  diffSchema,
  fileDiffSchema,
  newNoisePreviewSchema,
  noisePreviewSchema,
} from '../../collection/diff.ts';
import { chosenElementSchema, watchChoicesSchema } from '../../collection/noise.ts';
import { objectViewSchema, pageResourcesSchema, viewQuery } from '../../collection/view.ts';
import { jobSchema } from '../../node/job.ts';
import { pageOf } from '../../values/list.ts';
import { jsonBody, manageRoute, NO_BODY, route, UNREADABLE } from '../route.ts';

/** The problems of a request for what is derived from one object. */
const OBJECT_PROBLEMS = [
  'invalid_digest',
  'not_found',
  ...UNREADABLE,
  'not_derivable',
  'derivation_busy',
  'copy_unreachable',
  'shutting_down',
  'storage_failed',
] as const;

/** Texts derived from archived objects, for reading and searching. */
export const derivedRoutes = {
  searchTexts: route({
    method: 'GET',
    path: '/api/search',
    access: 'read',
    tag: 'Objects',
    summary: 'Search the texts of all versions of the sources, and of the files of packs',
    description:
      'Searches the title and the text derived from each version of each source, captures included, and from the files ' +
      'of packs. Versions of one source are one result: the current version if it matches, else the newest that does. ' +
      'With `source`, each version is a result. `in` limits the search to `sources` or `packs`. A new version or pack ' +
      'can be found shortly after it was stored. Results are not ranked: sources come first, the most recently added ' +
      'one first, then files, newest first. Texts that are withheld are found by the owner only.',
    query: searchQuery,
    responses: {
      200: { description: 'A page of matching sources and files', schema: pageOf(foundTextSchema) },
    },
  }),
  readObjectText: route({
    method: 'GET',
    path: '/archive/{sha256}/text',
    access: 'read',
    tag: 'Objects',
    summary: 'Read the text of an object',
    description:
      'The text is extracted at the first request and stored with the version of the tool that made it. It is derived ' +
      'data: the object itself is the evidence.',
    responses: {
      200: { description: 'The text, its links, and the tool that made it', schema: objectTextSchema },
    },
    problems: OBJECT_PROBLEMS,
  }),
};

/** The problems of a request for a diff. */
export const DIFF_PROBLEMS = [
  'not_found',
  'nothing_to_compare',
  ...UNREADABLE,
  'precondition_failed',
  'blob_damaged',
  'copy_unreachable',
  'not_derivable',
  'derivation_busy',
  'shutting_down',
  'storage_failed',
] as const;

/** Differences between two versions of a source, with the watched parts and noise rules that mark irrelevant changes. */
export const diffRoutes = {
  readDiff: route({
    method: 'GET',
    path: '/api/events/{id}/diff',
    access: 'read',
    tag: 'Timeline',
    summary: 'Read the difference between the two versions of an event',
    description:
      'The diff is computed at the first request and stored until the tool, the watched part or the noise rules of the source change. It ' +
      'is derived data: the two objects are the evidence. There is no endpoint that lists diffs.',
    headers: { 'If-None-Match': 'The entity tag of a cached copy.' },
    responses: {
      200: { description: 'The diff; its form depends on the kind of the objects', schema: diffSchema },
      304: { description: 'Not modified' },
    },
    problems: DIFF_PROBLEMS,
  }),
  compareObjects: manageRoute({
    method: 'GET',
    path: '/manage/diff',
    summary: 'Compare two objects',
    description:
      'Compares two objects, or files of packs, in the form that suits their kind. Noise rules are not applied. The ' +
      'diff is derived data and is not stored.',
    query: compareObjectsQuery,
    responses: {
      200: { description: 'The diff; its form depends on the kind of the objects', schema: fileDiffSchema },
    },
    problems: [
      'not_found',
      'released',
      'blob_damaged',
      'copy_unreachable',
      'not_derivable',
      'derivation_busy',
      'shutting_down',
    ],
  }),
  runNoiseRules: manageRoute({
    method: 'POST',
    path: '/manage/sources/{id}/noise',
    summary: 'Apply the watched part and the noise rules of a source to all of its past changes, as a job',
    body: NO_BODY,
    responses: { 202: { description: 'The job', schema: jobSchema } },
    problems: ['not_found'],
  }),
  previewNoiseRules: manageRoute({
    method: 'POST',
    path: '/manage/sources/{id}/noise/preview',
    summary: 'Preview a watched part and noise rules without storing them',
    description:
      'Applies them to the newest changes of the source, as many as fit into the time limit. With `event` they are ' +
      'applied to that change only, and the response includes its diff.',
    body: jsonBody(newNoisePreviewSchema),
    responses: { 200: { description: 'The effect on each change', schema: noisePreviewSchema } },
    problems: ['not_found', 'blob_damaged', 'copy_unreachable', 'not_derivable', 'derivation_busy'],
  }),
  findChosenPart: manageRoute({
    method: 'POST',
    path: '/manage/sources/{id}/watch/choices',
    summary: 'Find which ways to name an element of the archived page work, without storing them',
    description:
      'Tries each in the newest version of the source: the drawn document, if its pages are drawn. Of several CSS selectors and XPaths, only the first that names this element alone is returned.',
    body: jsonBody(chosenElementSchema),
    responses: { 200: { description: 'Those that work, in the given order', schema: watchChoicesSchema } },
    problems: ['not_found', 'blob_damaged', 'copy_unreachable', 'not_derivable', 'derivation_busy'],
  }),
};

/** Archived objects as the interface shows them. */
export const viewRoutes = {
  readObjectView: route({
    method: 'GET',
    path: '/archive/{sha256}/view',
    access: 'read',
    tag: 'Objects',
    summary: 'Read what is needed to show an object: its kind, address, times and neighbouring versions',
    query: viewQuery,
    responses: { 200: { description: 'One retrieval of the object', schema: objectViewSchema } },
    problems: ['invalid_digest', 'not_found', ...UNREADABLE, 'copy_unreachable'],
  }),
  readArchivedPage: route({
    method: 'GET',
    path: '/archive/{sha256}/page',
    access: 'read',
    tag: 'Objects',
    summary: 'Show an archived page without scripts and without requests',
    description:
      'Scripts, forms, frames and event handlers are left out. Stylesheets, images and fonts are put into the page from the archive’s nearest captures. Links lead to `/view/{sha256}`, or nowhere if their address is not held. The page is derived: the object itself is the evidence.',
    query: viewQuery,
    responses: { 200: { description: 'The page', mediaTypes: ['text/html'] } },
    problems: OBJECT_PROBLEMS,
  }),
  readChoosingPage: manageRoute({
    method: 'GET',
    path: '/manage/objects/{sha256}/choose',
    summary:
      'Show an archived page, without its scripts, with a script of the node that lets a person choose an element',
    description:
      'The page is that of `/archive/{sha256}/page`. The node’s own script is the only one that its policy allows. It sends what is chosen to the window around it.',
    query: viewQuery,
    responses: { 200: { description: 'The page', mediaTypes: ['text/html'] } },
    problems: [...OBJECT_PROBLEMS, 'interface_missing'],
  }),
  readPageResources: route({
    method: 'GET',
    path: '/archive/{sha256}/page/resources',
    access: 'read',
    tag: 'Objects',
    summary: 'List the captures that are put into an archived page, and what is missing',
    query: viewQuery,
    responses: { 200: { description: 'The page’s resources', schema: pageResourcesSchema } },
    problems: OBJECT_PROBLEMS,
  }),
};
