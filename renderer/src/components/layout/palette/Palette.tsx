import { useDebouncedValue } from '@mantine/hooks';
import { Spotlight } from '@mantine/spotlight';
import {
  IconArrowRight,
  IconFileSearch,
  IconFlask2,
  IconPackage,
  IconSearch,
  IconWorldSearch,
} from '@tabler/icons-react';
import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import type { FoundText } from '../../../../../shared/collection/derived.ts';
import { useCall } from '../../../api/useCall.ts';
import { authorsLine } from '../../../format/authors.ts';
import { useNavItems } from '../navItems.ts';
import { directMatches } from './directMatches.ts';
import classes from './Palette.module.css';
import { shownKeys, usePaletteActions } from './usePaletteActions.tsx';

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
      query={query}
      onQueryChange={setQuery}
      // The shell has the shortcut.
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
      />
      <Spotlight.ActionsList ref={list} aria-label="Search results">
        {groups.map(([title, found]) => (
          <Spotlight.ActionsGroup key={title} label={title}>
            {found.map(({ to, id, label, description, icon, keys }) => (
              <Spotlight.Action
                key={id ?? `${String(to)} ${label}`}
                label={label}
                description={description}
                classNames={{ actionDescription: classes.description }}
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
  const items = useNavItems().flatMap((group) => group.items);
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

function startsWith(label: string, words: string): boolean {
  return label.toLowerCase().startsWith(words);
}
