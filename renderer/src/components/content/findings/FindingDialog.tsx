import { TagsInput, Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import {
  type Finding,
  type FindingTarget,
  MAX_QUOTE_CHARACTERS,
} from '../../../../../shared/findings/finding.ts';
import { call } from '../../../api/client.ts';
import { fieldErrors } from '../../../api/fieldErrors.ts';
import { callKey, useCall } from '../../../api/useCall.ts';
import { formatCount } from '../../../format/size.ts';
import { DialogForm } from '../../forms/DialogForm.tsx';
import { FormDialog, type FormDialogControls } from '../../forms/FormDialog.tsx';
import { type FoundPassage, findPassage, type QuotedObject } from './findPassage.ts';

export interface FindingDialogProps {
  opened: boolean;
  onClose: () => void;
  target: FindingTarget;
  /** The objects that a passage may be quoted from. */
  objects: readonly QuotedObject[];
  /** The text that was selected on the page. */
  quote: string;
  /** The finding that a new version is written of. */
  superseded?: Finding;
}

/** Writes a finding, or a new version of one. */
export function FindingDialog({ opened, onClose, ...form }: FindingDialogProps) {
  const title = form.superseded ? 'New version of the finding' : 'Add a finding';
  return (
    <FormDialog opened={opened} onClose={onClose} title={title} size="lg">
      {(controls) => <FindingForm {...form} {...controls} />}
    </FormDialog>
  );
}

const FIELDS = { text: 'text', tags: 'tags', quote: 'quote' } as const;

type FindingFormProps = Omit<FindingDialogProps, 'opened' | 'onClose'> & FormDialogControls;

function FindingForm({ target, objects, quote, superseded, onDone, ...controls }: FindingFormProps) {
  const known = useCall('listFindingTags');
  const { form, save } = useFindingForm({ target, objects, quote, superseded, onDone });
  return (
    <DialogForm form={form} controls={controls} save={save} submit="Save finding" hasUnsaved={quote !== ''}>
      <Textarea
        label="Quoted passage"
        description="Optional. Select text on the page before you open this dialog, or paste it here."
        autosize
        minRows={2}
        maxRows={8}
        {...form.getInputProps('quote')}
      />
      <PassageNote quote={form.values.quote} objects={objects} />
      <Textarea
        label="Finding"
        description="What you found, in your own words."
        autosize
        minRows={4}
        maxRows={16}
        data-autofocus
        {...form.getInputProps('text')}
      />
      <TagsInput
        label="Tags"
        description="Optional. Press Enter after each."
        data={known.data?.tags.map(({ tag }) => tag) ?? []}
        maxTags={50}
        {...form.getInputProps('tags')}
      />
      <p className="small">
        A finding cannot be changed or deleted, because the ledger records it. Everyone who may read this
        archive can read it, also in dumps and copies. You can supersede it with a new version, or withdraw
        it.
      </p>
    </DialogForm>
  );
}

interface NewFinding extends Pick<FindingDialogProps, 'target' | 'objects' | 'quote' | 'superseded'> {
  onDone: () => void;
}

/** The fields of a finding, and its recording. */
function useFindingForm({ target, objects, quote, superseded, onDone }: NewFinding) {
  const queries = useQueryClient();
  const form = useForm({
    initialValues: {
      [FIELDS.quote]: superseded?.passage?.exact ?? quote,
      [FIELDS.text]: superseded?.text ?? '',
      [FIELDS.tags]: superseded?.tags ?? [],
    },
    validate: {
      text: (text) => (text === '' ? 'Write what you found.' : null),
      quote: (text) =>
        text.length > MAX_QUOTE_CHARACTERS
          ? `At most ${formatCount(MAX_QUOTE_CHARACTERS)} characters.`
          : null,
    },
  });
  const save = useMutation({
    mutationFn: async (values: typeof form.values) => {
      const exact = values.quote.trim();
      const passage = exact === '' ? null : (await findPassage(exact, objects)).passage;
      const { text, tags } = values;
      return call('addFinding', {
        body: { target, text, tags, passage, supersedes: superseded?.id ?? null },
      });
    },
    onError: (error) => form.setErrors(fieldErrors(error)),
    onSuccess: async () => {
      onDone();
      await invalidateFindings(queries);
    },
  });
  return { form, save };
}

/** Requests all lists of findings again. */
export async function invalidateFindings(queries: ReturnType<typeof useQueryClient>): Promise<void> {
  await Promise.all(
    (['listFindings', 'listFindingTags', 'readFinding'] as const).map((name) =>
      queries.invalidateQueries({ queryKey: callKey(name) }),
    ),
  );
}

const PAUSE_MS = 300;

/** Says where the quoted passage is in the text of an object. */
function PassageNote({ quote, objects }: { quote: string; objects: readonly QuotedObject[] }) {
  const [settled] = useDebouncedValue(quote.trim(), PAUSE_MS);
  const { data } = useQuery({
    queryKey: ['passage', settled, objects.map(({ sha256 }) => sha256)],
    queryFn: ({ signal }) => findPassage(settled, objects, signal),
    enabled: settled !== '' && objects.length > 0,
    placeholderData: keepPreviousData,
  });
  if (settled === '' || objects.length === 0 || !data) return null;
  return <output className="muted small">{placeOf(data, objects)}</output>;
}

function placeOf({ passage, object }: FoundPassage, objects: readonly QuotedObject[]): string {
  if (!object)
    return 'The text of the object does not contain this passage. It is saved as it is written here.';
  const { start, end, page } = passage;
  const where = page === null ? '' : `page ${page}, `;
  const name = objects.length > 1 ? ` (${object.name})` : '';
  return `Found in the text of the object${name}: ${where}characters ${formatCount(start ?? 0)} to ${formatCount(end ?? 0)}.`;
}
