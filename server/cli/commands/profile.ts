import { readFile, stat } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { z } from 'zod';
import {
  type KeptProfile,
  MAX_PROFILE_BYTES,
  type NewProfile,
  newProfileSchema,
  type Profile,
  type ProfileChange,
  profileChangeSchema,
  profileContentOf,
} from '../../../shared/collection/profile.ts';
import { newSourceSchema } from '../../../shared/collection/source.ts';
import { Problem } from '../../../shared/problems.ts';
import { countOf } from '../../../shared/values/counts.ts';
import { changeSource, normalizeUrl, sourceIdOf } from '../../collection/sources/sources.ts';
import type { NodeConfig } from '../../config.ts';
import { isMissing } from '../../store/files.ts';
import { type CollectionHere, hereOrThere } from '../collectionHere.ts';
import {
  type Command,
  type ExitCode,
  escapeForTerminal,
  NODE_OPTIONS,
  optionsHelp,
  print,
  UsageError,
} from '../command.ts';
import { jsonContent, type NodeOptions, RefusedByNodeError, type RunningNode } from '../runningNode.ts';

const OPTIONS = {
  site: {
    type: 'string',
    value: 'SITE',
    help: 'the site whose cookies are kept, such as example.org; needed if the file has those of several',
  },
  name: { type: 'string', value: 'NAME', help: 'a name for it (default: the site)' },
  ...NODE_OPTIONS,
} as const;

const HELP = `Usage: strongroom profile list [options]
       strongroom profile add FILE [--site SITE] [--name NAME] [options]
       strongroom profile replace ID FILE [options]
       strongroom profile use ID URL… [options]
       strongroom profile remove ID [options]

Keeps your login at one site, so that pages behind it can be watched. FILE is a Netscape cookie file (cookies.txt) or a
storage state of Playwright (JSON). Only what belongs to the site is kept, encrypted. It is sent to this site only, and
never shown, exported or logged. “use” watches addresses of the site with it, and “replace” logs in again. If a node has
the data folder open, that node keeps it.

${optionsHelp(OPTIONS)}

Exit code: 0 if it was done, 2 if it could not be.`;

/** What the command needs of a node, or of a data folder that it opened itself. */
interface ProfileClient {
  list(): Promise<Profile[]>;
  add(profile: NewProfile): Promise<KeptProfile>;
  replace(id: string, change: ProfileChange): Promise<KeptProfile>;
  remove(id: string): Promise<unknown>;
  /** Watches an address with a profile, also if it is watched without. */
  use(id: string, url: string): Promise<unknown>;
}

export const profile: Command = {
  name: 'profile',
  summary: 'keep a login, so that pages behind it can be watched',
  help: HELP,
  async run(args, config): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    const [action = '', ...rest] = positionals;
    const [first = ''] = rest;
    const wanted = { list: 0, add: 1, replace: 2, remove: 1 }[action];
    if (action === 'use' ? rest.length < 2 : rest.length !== wanted)
      throw new UsageError('Say list, add FILE, replace ID FILE, use ID URL or remove ID.');
    const { site, name } = values;
    const given = action === 'add' || action === 'replace' ? await readContent(rest.at(-1) ?? '') : {};
    return withClient(values, config, async (client): Promise<ExitCode> => {
      switch (action) {
        case 'add': {
          const kept = await client.add(
            valid(newProfileSchema, { ...given, ...(site && { site }), ...(name && { name }) }),
          );
          say(values.json, kept, [keptSentence(kept)]);
          return 0;
        }
        case 'replace': {
          const kept = await client.replace(
            first,
            valid(profileChangeSchema, { ...given, ...(name && { name }) }),
          );
          say(values.json, kept, [keptSentence(kept)]);
          return 0;
        }
        case 'use':
          for (const url of rest.slice(1)) await client.use(first, url);
          say(values.json, { ok: true }, [
            `${countOf(rest.length - 1, 'address is', 'addresses are')} watched with ${first}.`,
          ]);
          return 0;
        case 'remove':
          await client.remove(first);
          say(values.json, { ok: true }, [
            `${first} was deleted. Sources that used it are not fetched until they get another.`,
          ]);
          return 0;
        default: {
          const all = await client.list();
          say(values.json, all, all.length === 0 ? ['There are no profiles.'] : all.map(line));
          return 0;
        }
      }
    });
  },
};

function say(asJson: boolean, value: unknown, sentences: readonly string[]): void {
  if (asJson) print(JSON.stringify(value));
  else for (const sentence of sentences) print(sentence);
}

function line({ id, name, site, state, cookies, sources }: Profile): string {
  const named = name === site ? site : `${name} (${site})`;
  return `${id}  ${escapeForTerminal(named)}: ${state}, ${countOf(cookies, 'cookie')}, ${countOf(sources, 'source')}`;
}

function keptSentence({ id, site, cookies, storage_items, left_out }: KeptProfile): string {
  const kept = `${countOf(cookies, 'cookie')} and ${countOf(storage_items, 'item')} of storage of ${site} are kept as ${id}.`;
  return left_out === 0 ? kept : `${kept} ${left_out} of other sites, expired or not valid, were left out.`;
}

async function readContent(file: string): Promise<ProfileChange> {
  try {
    if ((await stat(file)).size > MAX_PROFILE_BYTES)
      throw new UsageError(`${escapeForTerminal(file)} has more than ${MAX_PROFILE_BYTES} bytes.`);
    return profileContentOf(await readFile(file, 'utf8'));
  } catch (error) {
    if (isMissing(error)) throw new UsageError(`There is no file ${escapeForTerminal(file)}.`);
    throw error;
  }
}

/** @throws UsageError if what was given cannot be a profile */
function valid<Value>(schema: z.ZodType<Value>, value: unknown): Value {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new UsageError(parsed.error.issues[0]?.message ?? 'The file is not a profile.');
}

function withClient<Result>(
  options: NodeOptions,
  config: Partial<NodeConfig>,
  work: (client: ProfileClient) => Promise<Result>,
): Promise<Result> {
  return hereOrThere(options, config, {
    here: (opened) => work(clientHere(opened)),
    there: (node) => work(remoteClient(node)),
  });
}

function clientHere({ collection, store }: CollectionHere): ProfileClient {
  const { profiles } = collection;
  return {
    list: async () => profiles.list({ limit: Number.MAX_SAFE_INTEGER, offset: 0 }).items,
    add: (given) => profiles.add(given),
    replace: (id, change) => profiles.change(id, change),
    remove: (id) => profiles.remove(id),
    use: (id, url) =>
      addOrChange(
        () => collection.add(valid(newSourceSchema, { url, profile: id })),
        () => changeSource(store, sourceIdOf(normalizeUrl(url)), { profile: id }),
      ),
  };
}

function remoteClient(node: RunningNode): ProfileClient {
  const send = async (method: string, path: string, body?: object) =>
    node.request(method, path, body && jsonContent(body));
  return {
    list: async () => ((await send('GET', '/manage/profiles?limit=500')) as { items: Profile[] }).items,
    add: async (given) => (await send('POST', '/manage/profiles', given)) as KeptProfile,
    replace: async (id, change) => (await send('PATCH', `/manage/profiles/${id}`, change)) as KeptProfile,
    remove: (id) => send('DELETE', `/manage/profiles/${id}`),
    use: (id, url) =>
      addOrChange(
        () => send('POST', '/manage/sources', { url, profile: id }),
        () => send('PATCH', `/manage/sources/${sourceIdOf(normalizeUrl(url))}`, { profile: id }),
      ),
  };
}

/** Adds a source, or changes the one that is watched already. */
async function addOrChange(add: () => Promise<unknown>, change: () => Promise<unknown>): Promise<unknown> {
  try {
    return await add();
  } catch (error) {
    const isKnown =
      (error instanceof Problem || error instanceof RefusedByNodeError) && error.code === 'source_exists';
    if (!isKnown) throw error;
    return change();
  }
}
