import type { PageCapture } from '../../../shared/collection/page.ts';
import { page } from '../../support/network/scriptedWeb.ts';
import { jsonOf } from '../client.ts';
import type { Dice } from '../dice.ts';
import { newMarker } from '../markers.ts';
import type { World } from '../world.ts';
import { noteEvents, noteWithholdings } from './collection.ts';
import { type Content, newPage, type StepKind } from './step.ts';

const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };

/** Notes a page that a browser drew: its words are in the text and in the document. */
async function notePage(world: World, id: string, marker: string): Promise<void> {
  const { model, node } = world;
  const drawn = jsonOf<PageCapture>(await node.asVisitor(`/archive/pages/${id}`));
  for (const part of ['text', 'document', 'picture'] as const) {
    const answer = await node.asOwner('GET', `/archive/${drawn[part]}`);
    world.require(answer, 200);
    model.hold(answer.body, 'object', part === 'picture' ? [] : [marker]);
  }
  model.pages.push({ id, covers: [drawn.text, drawn.document, drawn.picture] });
  model.keep(`/archive/pages/${id}`, {
    id,
    text: drawn.text,
    document: drawn.document,
    picture: drawn.picture,
  });
}

/** Puts a page on the web, and captures it as a browser draws it. Returns the id of the capture. */
export async function capturedPage(world: World, dice: Dice, content: Content): Promise<string> {
  const { web, node, served } = world;
  const path = `/drawn-${dice.letters(4)}`;
  served.set(path, [content]);
  web.script(path, page(content.bytes, HTML));
  const answer = await node.asOwner('POST', '/manage/pages', { json: { url: web.url(path) } });
  world.require(answer, 201);
  const { id } = jsonOf<{ id: string }>(answer);
  await notePage(world, id, content.marker);
  const { items } = jsonOf<{ items: { id: number }[] }>(await node.asVisitor('/api/events?limit=500'));
  const known = new Set(world.model.events.map((event) => event.id));
  await noteEvents(
    world,
    items.map((event) => event.id).filter((event) => !known.has(event)),
  );
  return id;
}

export const browserSteps = {
  /** Starts a browser, which takes seconds. */
  capturePage: {
    weight: 1,
    can: ({ hasBrowser, model }) => hasBrowser && model.pages.length < 2,
    run: (world, dice) => capturedPage(world, dice, newPage(dice)),
  },
  /** A page that only those see who are signed in is withheld from the moment of its retrieval. */
  watchWithLogin: {
    weight: 2,
    can: ({ model }) => model.profiles.length < 2,
    run: async (world, dice) => {
      const { web, node, model, require, served, check } = world;
      const [path, value] = [`/members-${dice.letters(4)}`, dice.letters(20)];
      const content = newPage(dice);
      const account = newMarker(dice);
      model.secrets.set(account, { marker: account, why: 'the name of an account in headers' });
      const headers = {
        'content-type': `text/html; name="${account}.html"; charset=utf-8`,
        'content-disposition': `inline; filename="${account}.html"`,
        'x-account-name': account,
      };
      served.set(path, [content]);
      web.script(path, (socket, request) =>
        request.headers.cookie?.includes(`sid=${value}`)
          ? page(content.bytes, { headers })(socket, request)
          : page('', { status: 403 })(socket, request),
      );
      const cookie = { name: 'sid', value, domain: '127.0.0.1', path: '/', expires: -1, httpOnly: true };
      const json = { site: '127.0.0.1', storage_state: { cookies: [cookie], origins: [] } };
      const added = await node.asOwner('POST', '/manage/profiles', { json });
      require(added, 201);
      const { id: profile } = jsonOf<{ id: string }>(added);
      model.profiles.push(profile);
      const watched = await node.asOwner('POST', '/manage/sources', {
        json: { url: web.url(path), profile },
      });
      require(watched, 201);
      const { id, url } = jsonOf<{ id: string; url: string }>(watched);
      model.sources.push({ id, url, path });
      const checked = await node.asOwner('POST', '/manage/collections?wait=true', {
        json: { sources: [id] },
      });
      require(checked, 200);
      const { events } = jsonOf<{ events: number[] }>(checked);
      check(events.length > 0, () => `A page behind a login was not retrieved: ${checked.body.toString()}`);
      await noteEvents(world, events);
      await noteWithholdings(world, node);
      const [sha256] = model.events.filter((event) => event.source === id).map((event) => event.sha256);
      check(model.isWithheld(sha256 ?? ''), `The page behind a login, ${sha256}, is not withheld.`);
      return id;
    },
  },
} satisfies Record<string, StepKind>;
