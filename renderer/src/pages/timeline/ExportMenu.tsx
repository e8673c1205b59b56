import { Button, Popover } from '@mantine/core';
import {
  IconChevronDown,
  IconClockHour4,
  IconDownload,
  IconFileZip,
  IconRss,
  IconTable,
  type TablerIcon,
} from '@tabler/icons-react';
import { urlOf } from '../../api/client.ts';
import { exportFile } from '../../components/feedback/exportFile.ts';
import classes from './ExportMenu.module.css';

export interface ExportMenuProps {
  /** The filters as query parameters. */
  query: Record<string, string | undefined>;
  /** The URL of the source, for its TimeMap. Set if the list is filtered by source. */
  sourceUrl?: string;
}

/** The export formats of the timeline: feed, table, web archive and TimeMap. */
export function ExportMenu({ query, sourceUrl }: ExportMenuProps) {
  return (
    <Popover position="bottom-end" width={310} trapFocus returnFocus shadow="md">
      <Popover.Target>
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
          rightSection={<IconChevronDown size={14} aria-hidden />}
        >
          Export
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Export" p={4}>
        <ul className={classes.forms}>
          {formsOf(query, sourceUrl).map(({ name, about, address, icon: Icon, isPage }) => (
            <li key={name}>
              <a
                href={address}
                className={classes.form}
                {...(isPage
                  ? { target: '_blank', rel: 'noopener noreferrer' }
                  : { download: '', onClick: (click) => void exportFile(click) })}
              >
                <Icon size={16} aria-hidden className={classes.icon} />
                <span>{name}</span>
                <span className={classes.about}>{about}</span>
              </a>
            </li>
          ))}
        </ul>
      </Popover.Dropdown>
    </Popover>
  );
}

interface Form {
  name: string;
  about: string;
  address: string;
  icon: TablerIcon;
  /** Whether a browser displays it. Other formats are downloaded. */
  isPage: boolean;
}

const WARC_FILTERS: ReadonlySet<string> = new Set(['source', 'since', 'until']);

function formsOf(
  { seen: _private, ...query }: ExportMenuProps['query'],
  sourceUrl: string | undefined,
): Form[] {
  const { source, since, until } = query;
  const isNarrower = Object.entries(query).some(([name, value]) => value && !WARC_FILTERS.has(name));
  const forms: Form[] = [
    {
      name: 'Atom feed',
      about: 'Follow these events in a feed reader',
      address: urlOf('readEventFeed', { query }),
      icon: IconRss,
      isPage: true,
    },
    {
      name: 'CSV',
      about: 'These events as a table',
      address: urlOf('listEvents', { query: { ...query, format: 'csv' } }),
      icon: IconTable,
      isPage: false,
    },
    {
      name: 'WARC',
      about: isNarrower
        ? 'Retrievals with their contents; only the source and date filters apply'
        : 'Retrievals with their contents, for other archives',
      address: urlOf('exportWarc', { query: { source, since, until, gzip: true } }),
      icon: IconFileZip,
      isPage: false,
    },
  ];
  if (sourceUrl !== undefined) {
    forms.push({
      name: 'TimeMap',
      about: 'All observations, for Memento clients',
      address: urlOf('readTimeMap', { params: { url: sourceUrl } }),
      icon: IconClockHour4,
      isPage: true,
    });
  }
  return forms;
}
