import { MultiSelect, TagsInput } from '@mantine/core';
import type { useForm } from '@mantine/form';
import { MAX_LIST_LIMIT } from '../../../../shared/limits.ts';
import { useCall } from '../../api/useCall.ts';
import { QUALITY_OPTIONS } from '../timeline/qualityOptions.ts';
import classes from './AlertsPage.module.css';
import type { RuleDraft } from './ruleDraft.ts';

/** The form of a rule, as far as its fields use it. */
export type RuleForm = Pick<ReturnType<typeof useForm<RuleDraft>>, 'getInputProps' | 'values'>;

/** To which events of which sources a rule is limited. */
export function EventFilters({ form, nameOf }: { form: RuleForm; nameOf: (source: string) => string }) {
  const { data } = useCall('listSources', { query: { limit: MAX_LIST_LIMIT } });
  const sources = data?.items ?? [];
  const known = new Set(sources.map(({ id }) => id));
  const listed = [...sources.map(({ id }) => id), ...form.values.sources.filter((id) => !known.has(id))];
  const used = (values: string[]) => [...new Set(values)].filter(Boolean).sort();
  return (
    <div className={classes.pair}>
      <MultiSelect
        label="Only these sources"
        placeholder={form.values.sources.length === 0 ? 'Any' : undefined}
        data={listed.map((value) => ({ value, label: nameOf(value) }))}
        searchable
        {...form.getInputProps('sources')}
      />
      <TagsInput
        label="Only with a tag"
        placeholder={form.values.tags.length === 0 ? 'Any' : ''}
        data={used(sources.flatMap(({ tags }) => tags))}
        acceptValueOnBlur
        {...form.getInputProps('tags')}
      />
      <TagsInput
        label="Only of an agency"
        placeholder={form.values.agencies.length === 0 ? 'Any' : ''}
        data={used(sources.map(({ agency }) => agency))}
        acceptValueOnBlur
        {...form.getInputProps('agencies')}
      />
      <TagsInput
        label="Only with words"
        placeholder={form.values.words.length === 0 ? 'Any' : ''}
        description="In what was added or removed. Enter after each word or phrase."
        acceptValueOnBlur
        splitChars={[]}
        {...form.getInputProps('words')}
      />
      <MultiSelect
        label="Only with a quality"
        placeholder={form.values.labels.length === 0 ? 'Any' : ''}
        description="To leave out bot checks, choose all the others."
        data={QUALITY_OPTIONS.filter(({ value }) => value !== 'any' || form.values.labels.includes('any'))}
        {...form.getInputProps('labels')}
      />
    </div>
  );
}
