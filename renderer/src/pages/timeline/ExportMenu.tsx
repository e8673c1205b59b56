import { Button, Menu } from '@mantine/core';
import {
  IconChevronDown,
  IconClockHour4,
  IconDownload,
  IconFileZip,
  IconRss,
  IconTable,
} from '@tabler/icons-react';
import { addressOf } from '../../api/client.ts';
import classes from './ExportMenu.module.css';

export interface ExportMenuProps {
  /** The filters as the node takes them. */
  query: Record<string, string | undefined>;
  /** The address of the source that all of it is about, for its TimeMap. */
  sourceUrl?: string;
}

/** The forms in which other programs read the timeline: a feed, a table, an archive, a list of mementos. */
export function ExportMenu({ query, sourceUrl }: ExportMenuProps) {
  const { source, since, until } = query;
  const isNarrower = Object.entries(query).some(([name, value]) => value && !WARC_FILTERS.has(name));
  return (
    <Menu position="bottom-end" width={300} shadow="md">
      <Menu.Target>
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
          rightSection={<IconChevronDown size={14} aria-hidden />}
        >
          Take away
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          component="a"
          href={addressOf('readEventFeed', { query })}
          target="_blank"
          leftSection={<IconRss size={16} aria-hidden />}
        >
          Atom feed
          <span className={classes.about}>follow these events in a feed reader</span>
        </Menu.Item>
        <Menu.Item
          component="a"
          href={addressOf('listEvents', { query: { ...query, format: 'csv' } })}
          download
          leftSection={<IconTable size={16} aria-hidden />}
        >
          CSV
          <span className={classes.about}>all of these events as a table</span>
        </Menu.Item>
        <Menu.Item
          component="a"
          href={addressOf('exportWarc', { query: { source, since, until, gzip: true } })}
          download
          leftSection={<IconFileZip size={16} aria-hidden />}
        >
          WARC
          <span className={classes.about}>
            {isNarrower
              ? 'every attempt with its bytes; of the filters only source and days hold'
              : 'every attempt with its bytes, for other archives'}
          </span>
        </Menu.Item>
        {sourceUrl && (
          <Menu.Item
            component="a"
            href={addressOf('readTimeMap', { params: { url: sourceUrl } })}
            target="_blank"
            leftSection={<IconClockHour4 size={16} aria-hidden />}
          >
            TimeMap
            <span className={classes.about}>every observation, for Memento clients</span>
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

const WARC_FILTERS: ReadonlySet<string> = new Set(['source', 'since', 'until']);
