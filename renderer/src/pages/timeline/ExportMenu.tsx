import { Button, Popover } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import {
  IconChevronDown,
  IconClockHour4,
  IconDownload,
  IconFileZip,
  IconRss,
  IconTable,
  type TablerIcon,
} from '@tabler/icons-react';
import type { MouseEvent } from 'react';
import { addressOf, reach } from '../../api/client.ts';
import { describeError } from '../../components/ErrorNote.tsx';
import classes from './ExportMenu.module.css';

export interface ExportMenuProps {
  /** The filters as the node takes them. */
  query: Record<string, string | undefined>;
  /** The address of the source that all of it is about, for its TimeMap. */
  sourceUrl?: string;
}

/** The forms in which other programs read the timeline: a feed, a table, an archive, a list of mementos. */
export function ExportMenu({ query, sourceUrl }: ExportMenuProps) {
  return (
    <Popover position="bottom-end" width={310} trapFocus returnFocus shadow="md">
      <Popover.Target>
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
          rightSection={<IconChevronDown size={14} aria-hidden />}
        >
          Take away
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Take away" p={4}>
        <ul className={classes.forms}>
          {formsOf(query, sourceUrl).map(({ name, about, address, icon: Icon, isPage }) => (
            <li key={name}>
              <a
                href={address}
                className={classes.form}
                {...(isPage
                  ? { target: '_blank', rel: 'noopener noreferrer' }
                  : { download: '', onClick: (click) => void takeAway(click) })}
              >
                <Icon size={16} aria-hidden className={classes.icon} />
                <span className={classes.name}>{name}</span>
                <span className={classes.about}>{about}</span>
              </a>
            </li>
          ))}
        </ul>
      </Popover.Dropdown>
    </Popover>
  );
}

/** A file that the node cannot make now would be a broken download without a word, so it is asked before. */
async function takeAway(click: MouseEvent<HTMLAnchorElement>): Promise<void> {
  const { href } = click.currentTarget;
  click.preventDefault();
  try {
    const { status } = await reach(href, { method: 'HEAD' });
    // The answer is a file, so the page stays where it is; a refusal of another kind is shown as the node tells it.
    if (status !== 503) window.location.assign(href);
    else notifications.show({ color: 'red', message: BUSY });
  } catch (error) {
    notifications.show({ color: 'red', message: describeError(error).sentence });
  }
}

const BUSY = 'The node makes as many exports as it can at once. Try again in a minute.';

interface Form {
  name: string;
  about: string;
  address: string;
  icon: TablerIcon;
  /** Whether a browser shows it; others are files to keep. */
  isPage: boolean;
}

const WARC_FILTERS: ReadonlySet<string> = new Set(['source', 'since', 'until']);

function formsOf(query: ExportMenuProps['query'], sourceUrl: string | undefined): Form[] {
  const { source, since, until } = query;
  const isNarrower = Object.entries(query).some(([name, value]) => value && !WARC_FILTERS.has(name));
  const forms: Form[] = [
    {
      name: 'Atom feed',
      about: 'to follow these events in a feed reader',
      address: addressOf('readEventFeed', { query }),
      icon: IconRss,
      isPage: true,
    },
    {
      name: 'CSV',
      about: 'all of these events as a table',
      address: addressOf('listEvents', { query: { ...query, format: 'csv' } }),
      icon: IconTable,
      isPage: false,
    },
    {
      name: 'WARC',
      about: isNarrower
        ? 'every attempt with its bytes; of the filters, only source and days hold'
        : 'every attempt with its bytes, for other archives',
      address: addressOf('exportWarc', { query: { source, since, until, gzip: true } }),
      icon: IconFileZip,
      isPage: false,
    },
  ];
  if (sourceUrl !== undefined) {
    forms.push({
      name: 'TimeMap',
      about: 'every observation, for Memento clients',
      address: addressOf('readTimeMap', { params: { url: sourceUrl } }),
      icon: IconClockHour4,
      isPage: true,
    });
  }
  return forms;
}
