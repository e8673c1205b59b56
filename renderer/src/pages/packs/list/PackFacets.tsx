import { Button, Pill, Popover, Select, Switch, TextInput } from '@mantine/core';
import { IconAdjustmentsHorizontal } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { LICENSES, OUTCOMES, TAGS, VERDICTS } from '../../../../../shared/archive/vocabulary.ts';
import { clearButtonProps } from '../../../components/forms/clearButtonProps.ts';
import { PackPicker } from '../../../components/forms/pickers/PackPicker.tsx';
import { StudyPicker } from '../../../components/forms/pickers/StudyPicker.tsx';
import { SubjectPicker } from '../../../components/forms/pickers/SubjectPicker.tsx';
import { SearchField } from '../../../components/forms/SearchField.tsx';
import type { UrlFilters } from '../../../state/urlFilters.ts';
import classes from './PackFacets.module.css';

export const FACETS = [
  'q',
  'outcome',
  'tag',
  'license',
  'verdict',
  'study',
  'node',
  'author',
  'keyword',
  'flagged',
  'replicates',
] as const;
export type Facet = (typeof FACETS)[number];

/** The label of an active filter whose value alone would be ambiguous. */
const FACET_LABELS: Record<Exclude<Facet, 'q'>, string> = {
  outcome: 'outcome',
  tag: 'tag',
  license: 'licence',
  verdict: 'replicated as',
  study: 'study',
  node: 'subject',
  author: 'author',
  keyword: 'keyword',
  flagged: 'flagged',
  replicates: 'replications of',
};

const SELECTS: { facet: Facet; label: string; values: readonly string[] }[] = [
  { facet: 'outcome', label: 'Outcome', values: OUTCOMES },
  { facet: 'tag', label: 'Tag', values: TAGS },
  { facet: 'verdict', label: 'Replicated as', values: VERDICTS },
  { facet: 'license', label: 'Licence', values: LICENSES },
];

/** The prefix of each option's value: Mantine treats the outcome `null` as no selection. */
const OPTION = 'is ';

/** Search and filters of the packs. Active filters are listed below and can be removed one by one. */
export function PackFacets({ filters }: { filters: UrlFilters<Facet> }) {
  const { values, set, clear, isAny } = filters;
  return (
    <search className={classes.facets}>
      <div className={classes.row}>
        <div className={classes.search}>
          <SearchField
            label="Search packs"
            placeholder="Title, summary, authors, keywords, method"
            value={values.q ?? ''}
            onChange={(q) => set({ q })}
          />
        </div>
        {SELECTS.map(({ facet, label, values: choices }) => (
          <Select
            key={facet}
            aria-label={label}
            placeholder={label}
            data={choices.map((choice) => ({ value: OPTION + choice, label: choice }))}
            value={values[facet] ? OPTION + values[facet] : null}
            onChange={(value) => set({ [facet]: value?.slice(OPTION.length) ?? '' })}
            clearable
            clearButtonProps={clearButtonProps(`Any ${label.toLowerCase()}`)}
            w={label === 'Replicated as' ? 152 : 128}
          />
        ))}
        <MoreFilters values={values} set={set} />
      </div>
      {isAny && (
        <div className={classes.active}>
          {FACETS.filter((facet) => values[facet]).map((facet) => (
            <Pill
              key={facet}
              size="md"
              withRemoveButton
              removeButtonProps={{
                'aria-label': `Remove filter: ${facet === 'q' ? 'search' : FACET_LABELS[facet]}`,
                tabIndex: 0,
                'aria-hidden': false,
              }}
              onRemove={() => set({ [facet]: '' })}
            >
              {facet === 'q'
                ? `“${values.q}”`
                : facet === 'flagged'
                  ? values.flagged === 'true'
                    ? 'flagged'
                    : 'not flagged'
                  : `${FACET_LABELS[facet]}: ${values[facet]}`}
            </Pill>
          ))}
          <Button variant="subtle" size="compact-sm" onClick={clear}>
            Clear all
          </Button>
        </div>
      )}
    </search>
  );
}

function MoreFilters({ values, set }: Pick<UrlFilters<Facet>, 'values' | 'set'>): ReactNode {
  const [open, setOpen] = useState(false);
  return (
    <Popover opened={open} onChange={setOpen} position="bottom-end" width={340} trapFocus shadow="md">
      <Popover.Target>
        <Button
          variant="default"
          leftSection={<IconAdjustmentsHorizontal size={16} aria-hidden />}
          onClick={() => setOpen(!open)}
        >
          More
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="More filters">
        <div className={classes.more}>
          <StudyPicker
            label="Study"
            value={values.study ?? null}
            onChange={(study) => set({ study: study ?? '' })}
          />
          <SubjectPicker
            label="Subject (including those below)"
            value={values.node ?? null}
            onChange={(node) => set({ node: node ?? '' })}
          />
          <PackPicker
            label="Replications of"
            value={values.replicates ?? null}
            onChange={(replicates) => set({ replicates: replicates ?? '' })}
          />
          <TextInput
            label="Author"
            defaultValue={values.author ?? ''}
            key={`author ${values.author}`}
            onBlur={(event) => set({ author: event.currentTarget.value.trim() })}
            onKeyDown={(event) => event.key === 'Enter' && set({ author: event.currentTarget.value.trim() })}
          />
          <TextInput
            label="Keyword"
            defaultValue={values.keyword ?? ''}
            key={`keyword ${values.keyword}`}
            onBlur={(event) => set({ keyword: event.currentTarget.value.trim() })}
            onKeyDown={(event) => event.key === 'Enter' && set({ keyword: event.currentTarget.value.trim() })}
          />
          <Switch
            label="Only flagged packs"
            checked={values.flagged === 'true'}
            onChange={(event) => set({ flagged: event.currentTarget.checked ? 'true' : '' })}
          />
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}
