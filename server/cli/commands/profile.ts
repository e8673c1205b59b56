import { readFile, stat } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { z } from 'zod';
import {
  type KeptProfile,
  MAX_PROFILE_BYTES,
  newProfileSchema,
  type Profile,
  type ProfileChange,
  profileChangeSchema,
  profileContentOf,
} from '../../../shared/collection/profile.ts';
import { MAX_LIST_LIMIT } from '../../../shared/limits.ts';
import { countOf } from '../../../shared/values/counts.ts';
import { normalizeUrl, sourceIdOf } from '../../collection/sources/sources.ts';
import { isMissing } from '../../store/files.ts';
import {
  type Command,
  type ExitCode,
  escapeForTerminal,
  NODE_OPTIONS,
  optionsHelp,
  print,
  printJson,
  UsageError,
} from '../command.ts';
import { type NodeClient, RefusedByNodeError } from '../node/nodeClient.ts';
import { withNode } from '../node/withNode.ts';

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
    return withNode(values, config, async (node): Promise<ExitCode> => {
      switch (action) {
        case 'add': {
          const body = valid(newProfileSchema, { ...given, ...(site && { site }), ...(name && { name }) });
          const kept = await node.call('addProfile', { body });
          say(values.json, kept, [keptSentence(kept)]);
          return 0;
        }
        case 'replace': {
          const body = valid(profileChangeSchema, { ...given, ...(name && { name }) });
          const kept = await node.call('changeProfile', { params: { id: first }, body });
          say(values.json, kept, [keptSentence(kept)]);
          return 0;
        }
        case 'use':
          for (const url of rest.slice(1)) await useProfile(node, first, url);
          say(values.json, { ok: true }, [
            `${countOf(rest.length - 1, 'address is', 'addresses are')} watched with ${first}.`,
          ]);
          return 0;
        case 'remove':
          await node.call('removeProfile', { params: { id: first } });
          say(values.json, { ok: true }, [
            `${first} was deleted. Sources that used it are not fetched until they get another.`,
          ]);
          return 0;
        default: {
          const all = (await node.call('listProfiles', { query: { limit: MAX_LIST_LIMIT } })).items;
          say(values.json, all, all.length === 0 ? ['There are no profiles.'] : all.map(line));
          return 0;
        }
      }
    });
  },
};

function say(asJson: boolean, value: unknown, sentences: readonly string[]): void {
  if (asJson) printJson(value);
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

/** Watches an address with a profile, also if it is watched without. */
async function useProfile(node: NodeClient, profile: string, url: string): Promise<void> {
  try {
    await node.call('addSource', { body: { url, profile } });
  } catch (error) {
    if (!(error instanceof RefusedByNodeError && error.code === 'source_exists')) throw error;
    const id = sourceIdOf(normalizeUrl(url));
    await node.call('changeSource', { params: { id }, body: { profile } });
  }
}
