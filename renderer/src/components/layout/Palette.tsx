import { useMantineColorScheme } from '@mantine/core';
import { useDebouncedValue, useHotkeys } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { Spotlight } from '@mantine/spotlight';
import {
  IconArrowRight,
  IconFileSearch,
  IconFlask2,
  IconPackage,
  IconSearch,
  IconWorldSearch,
} from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import type { FoundText } from '../../../../shared/collection/derived.ts';
import { SETTING_PAGES } from '../../../../shared/node/pages.ts';
import { callKey, useCall } from '../../api/useCall.ts';
import { authorsLine } from '../../format.ts';
import { useDisplaySettings } from '../../state/displaySettings.ts';
import { useIsOwner, useMayContribute, useSession } from '../../state/session.ts';
import { describeError } from '../feedback/ErrorNote.tsx';
import classes from './layout.module.css';
import { type NavItem, useNavItems } from './Navigation.tsx';
import { actionsFor, matchingActions, type PaletteAction } from './paletteActions.tsx';
import { paletteStore, takeTypedAhead } from './paletteKeys.ts';

const PAUSE_MS = 150;
const FOUND_PER_KIND = 5;

interface Found {
  /** The page to open, or what to do instead. */
  to: string | (() => void);
  id?: string;
  label: string;
  description?: string;
  icon: ReactNode;
  keys?: string;
}

/**
 * Ctrl+K: opens any page, does what can be done from anywhere, searches packs, studies, sources and texts, and resolves pasted ids, digests and
 * URLs.
 */
export function Palette() {
  const [query, setQuery] = useState('');
  const navigate = useNavigate();
  const groups = usePaletteGroups(query);
  const list = useRef<HTMLDivElement>(null);
  // Results arrive after typing, when Mantine has already looked for a first option to select.
  const takeFirst = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || list.current?.querySelector('[data-selected]')) return;
    list.current?.querySelector<HTMLElement>('[data-action]')?.click();
  };
  return (
    <Spotlight.Root
      store={paletteStore}
      query={query}
      onQueryChange={setQuery}
      // `listenForPalette` has the shortcut.
      shortcut={null}
      scrollable
      centered={false}
      yOffset="12vh"
      overlayProps={{ backgroundOpacity: 0.35, blur: 0 }}
      maxHeight={480}
      attributes={{ content: { 'aria-label': 'Search' } }}
      clearQueryOnClose
    >
      <Spotlight.Search
        aria-label="Search pages, actions, packs, studies, sources, ids and digests"
        placeholder="Page, action, words, id, digest or URL"
        leftSection={<IconSearch size={18} aria-hidden />}
        onKeyDown={takeFirst}
        onFocus={() => setQuery((typed) => typed + takeTypedAhead())}
      />
      <Spotlight.ActionsList ref={list} aria-label="Search results">
        {groups.map(([title, found]) => (
          <Spotlight.ActionsGroup key={title} label={title}>
            {found.map(({ to, id, label, description, icon, keys }) => (
              <Spotlight.Action
                key={id ?? `${String(to)} ${label}`}
                label={label}
                description={description}
                classNames={{ actionDescription: 'clamp' }}
                leftSection={icon}
                rightSection={keys && <kbd className={classes.keys}>{shownKeys(keys)}</kbd>}
                onClick={() => (typeof to === 'string' ? void navigate(to) : to())}
              />
            ))}
          </Spotlight.ActionsGroup>
        ))}
        {groups.length === 0 && <Spotlight.Empty>No results.</Spotlight.Empty>}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  );
}

function usePaletteGroups(query: string): [title: string, found: Found[]][] {
  const [settled] = useDebouncedValue(query.trim(), PAUSE_MS);
  const hits = directMatches(query, window.location.origin);
  const search = { query: { q: settled, limit: FOUND_PER_KIND } };
  const options = { enabled: settled !== '' && hits.length === 0, keepPrevious: true };
  const packs = useCall('listPacks', search, options);
  const studies = useCall('listStudies', search, options);
  const sources = useCall('listSources', search, options);
  const texts = useCall('searchTexts', search, options);
  const items = useNavItems()
    .flatMap((group) => group.items)
    .flatMap((item) =>
      item.to === '/settings' && query.trim() !== '' ? [item, ...settingItems(item)] : [item],
    );
  const words = query.trim().toLowerCase();

  const pages = items
    // “New pack” is an action.
    .filter(({ to, label }) => to !== '/assemble' && label.toLowerCase().includes(words))
    .toSorted((a, b) => Number(startsWith(b.label, words)) - Number(startsWith(a.label, words)))
    .map(({ to, label, icon: Icon }) => ({ to, label, icon: <Icon size={18} aria-hidden /> }));
  const { actions, run } = usePaletteActions(query);
  const doable = actions.map((action) => ({ ...action, to: () => run(action) }));
  const direct = hits.map((hit) => ({ ...hit, icon: <IconArrowRight size={18} aria-hidden /> }));
  const found: [string, Found[]][] = [
    ['Go to', direct],
    ['Pages', pages],
    ['Actions', doable],
  ];
  if (options.enabled) {
    found.push(
      [
        'Packs',
        (packs.data?.items ?? []).map((pack) => ({
          to: `/packs/${pack.id}`,
          label: pack.title,
          description: authorsLine(pack.authors),
          icon: <IconPackage size={18} aria-hidden />,
        })),
      ],
      [
        'Studies',
        (studies.data?.items ?? []).map((study) => ({
          to: `/studies/${study.id}`,
          label: study.title,
          description: study.status,
          icon: <IconFlask2 size={18} aria-hidden />,
        })),
      ],
      [
        'Sources',
        (sources.data?.items ?? []).map((source) => ({
          to: `/sources/${source.id}`,
          label: source.name || source.url,
          description: source.name ? source.url : undefined,
          icon: <IconWorldSearch size={18} aria-hidden />,
        })),
      ],
      ['Text search', foundTexts(settled, texts.data?.items ?? [])],
    );
  }
  return found.filter(([, items]) => items.length > 0);
}

/** Sources and files of packs whose text matches, and a link to all results. */
function foundTexts(words: string, items: readonly FoundText[]): Found[] {
  if (items.length === 0) return [];
  const icon = <IconFileSearch size={18} aria-hidden />;
  const all = {
    to: `/search?${new URLSearchParams({ q: words }).toString()}`,
    label: 'All text search results',
    icon,
  };
  const each = items.flatMap(({ source, pack, snippet }) => {
    const description = snippet.text;
    if (source) return [{ to: `/sources/${source.id}`, label: source.name || source.url, description, icon }];
    return pack
      ? [{ to: `/packs/${pack.id}`, label: `${pack.path} in ${pack.title}`, description, icon }]
      : [];
  });
  return [...each, all];
}

/** The pages of the settings as pages of the palette. */
function settingItems(settings: NavItem): NavItem[] {
  return SETTING_PAGES.map(({ id, title }) => ({
    ...settings,
    to: `${settings.to}#${id}`,
    label: `${settings.label}: ${title}`,
  }));
}

function startsWith(label: string, words: string): boolean {
  return label.toLowerCase().startsWith(words);
}

/** The actions that match what is typed, and the keys of those that have some. */
export function usePaletteActions(typed: string): {
  actions: PaletteAction[];
  run: (action: PaletteAction) => void;
} {
  const owner = useIsOwner();
  const mayContribute = useMayContribute();
  const sharing = useSession(({ session }) => session?.sharing ?? 'off');
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { zone, setZone } = useDisplaySettings();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const context = {
    owner,
    mayContribute,
    sharing,
    scheme: colorScheme,
    zone,
    navigate,
    setScheme: setColorScheme,
    setZone,
  };
  const run = (action: PaletteAction) => {
    void Promise.resolve(action.run())
      .then(() => queries.invalidateQueries({ queryKey: callKey('readSharing') }))
      .catch((error: unknown) =>
        notifications.show({
          title: `“${action.label}” failed`,
          message: describeError(error).sentence,
          color: 'red',
          autoClose: false,
        }),
      );
  };
  const withKeys = actionsFor({ ...context, address: undefined }).filter(({ keys }) => keys !== undefined);
  // With the physical key, because Alt changes the character on some keyboards.
  useHotkeys(
    withKeys.map((action) => [`alt+shift+${action.keys}`, () => run(action), { usePhysicalKeys: true }]),
  );
  const address = watchableAddress(typed, window.location.origin);
  const actions = matchingActions(actionsFor({ ...context, address }), typed);
  return { actions, run };
}

/** How the keys of an action are shown. */
export function shownKeys(keys: string): string {
  return /Mac|iP/.test(navigator.platform) ? `⌥⇧${keys}` : `Alt+Shift+${keys}`;
}

/** A page that pasted text refers to by its format alone. */
export interface DirectMatch {
  to: string;
  label: string;
}

/** Recognises ids, digests, ledger entry numbers, subject paths and URLs. Returns none for plain words. */
export function directMatches(text: string, origin: string): DirectMatch[] {
  const pasted = text.trim();
  if (/^pk_[0-9a-f]{20}$/.test(pasted)) return [{ to: `/packs/${pasted}`, label: `Pack ${pasted}` }];
  if (/^st_[0-9a-f]{20}$/.test(pasted)) return [{ to: `/studies/${pasted}`, label: `Study ${pasted}` }];
  if (/^so_[0-9a-f]{20}$/.test(pasted)) return [{ to: `/sources/${pasted}`, label: `Source ${pasted}` }];
  const digest = pasted.toLowerCase().replace(/^sha256:/, '');
  if (/^[0-9a-f]{64}$/.test(digest)) {
    return [
      { to: `/packs/pk_${digest.slice(0, 20)}`, label: 'Pack with this fingerprint' },
      { to: `/timeline?q=${digest}`, label: 'Events of the object with this digest' },
    ];
  }
  if (/^#?\d{1,15}$/.test(pasted)) {
    const number = Number(pasted.replace('#', ''));
    return number > 0 ? [{ to: `/ledger?from=${number}`, label: `Ledger entry ${number}` }] : [];
  }
  if (/^[a-z0-9-]+(\/[a-z0-9-]+)+$/.test(pasted))
    return [{ to: `/nodes/${pasted}`, label: `Subject ${pasted}` }];
  return addressHits(pasted, origin);
}

/**
 * The typed text if it is an address that can be watched, with or without its scheme. Pages of this interface are not.
 */
export function watchableAddress(text: string, origin: string): string | undefined {
  const typed = text.trim();
  const isHost = /^[\w-]+(\.[\w-]+)*\.[a-z]{2,}(:\d+)?([/?#]\S*)?$/i.test(typed);
  const url = URL.parse(isHost ? `https://${typed}` : typed);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return undefined;
  return url.origin === origin ? undefined : typed;
}

function addressHits(pasted: string, origin: string): DirectMatch[] {
  const url = URL.parse(pasted);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return [];
  if (url.origin === origin) return [{ to: url.pathname + url.search, label: `Go to ${url.pathname}` }];
  const query = encodeURIComponent(pasted);
  return [
    { to: `/sources?q=${query}`, label: 'Watched sources with this URL' },
    { to: `/timeline?q=${query}`, label: 'Events of this URL' },
  ];
}
