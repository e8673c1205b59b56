import '@mantine/spotlight/styles.layer.css';
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

const PAUSE_MS = 150;
const FOUND_PER_KIND = 5;

interface Found {
  to: string;
  label: string;
  description?: string;
  icon: ReactNode;
}

/**
 * Ctrl+K: opens any page, searches packs, studies, sources and texts, and resolves pasted ids, digests and
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
      shortcut={['mod + K']}
      // The shortcut works in text fields too.
      tagsToIgnore={[]}
      scrollable
      centered={false}
      yOffset="12vh"
      overlayProps={{ backgroundOpacity: 0.35, blur: 0 }}
      maxHeight={480}
      attributes={{ content: { 'aria-label': 'Search' } }}
      clearQueryOnClose
    >
      <Spotlight.Search
        aria-label="Search pages, packs, studies, sources, ids and digests"
        placeholder="Page, words, id, digest or URL"
        leftSection={<IconSearch size={18} aria-hidden />}
        onKeyDown={takeFirst}
      />
      <Spotlight.ActionsList ref={list} aria-label="Search results">
        {groups.map(([title, found]) => (
          <Spotlight.ActionsGroup key={title} label={title}>
            {found.map(({ to, label, description, icon }) => (
              <Spotlight.Action
                key={to + label}
                label={label}
                description={description}
                leftSection={icon}
                onClick={() => void navigate(to)}
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
    .filter(({ label }) => label.toLowerCase().includes(words))
    .map(({ to, label, icon: Icon }) => ({ to, label, icon: <Icon size={18} aria-hidden /> }));
  const direct = hits.map((hit) => ({ ...hit, icon: <IconArrowRight size={18} aria-hidden /> }));
  const found: [string, Found[]][] = [
    ['Go to', direct],
    ['Pages', pages],
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

/** Sources whose current version matches, and a link to all results. */
function foundTexts(words: string, items: readonly FoundText[]): Found[] {
  if (items.length === 0) return [];
  const icon = <IconFileSearch size={18} aria-hidden />;
  const all = {
    to: `/search?${new URLSearchParams({ q: words }).toString()}`,
    label: 'All text search results',
    icon,
  };
  const each = items.map(({ source, snippet }) => ({
    to: `/sources/${source.id}`,
    label: source.name || source.url,
    description: snippet.text,
    icon,
  }));
  return [...each, all];
}
