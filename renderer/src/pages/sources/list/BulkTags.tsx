import { Modal, Stack, TagsInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { DialogButtons } from '../../../components/forms/DialogButtons.tsx';
import { countOf } from '../../../format/size.ts';
import { useAgenciesAndTags } from '../form/useAgenciesAndTags.ts';
import type { VisibleSource } from '../useSources.ts';
import type { BulkChange, ChangeOf } from './bulkChange.ts';

export interface BulkTagsProps {
  sources: readonly VisibleSource[];
  change: BulkChange;
  onSet: (changeOf: ChangeOf) => void;
  onClose: () => void;
}

/** Adds tags to the selected sources and removes tags from them. */
export function BulkTags({ sources, change, onSet, onClose }: BulkTagsProps) {
  const { tags } = useAgenciesAndTags();
  const [added, setAdded] = useState<string[]>([]);
  const [removed, setRemoved] = useState<string[]>([]);
  const present = [...new Set(sources.flatMap((source) => source.tags))].sort();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSet((source) => ({
      tags: [...new Set([...source.tags.filter((tag) => !removed.includes(tag)), ...added])],
    }));
  };
  return (
    <Modal opened onClose={onClose} title={`Tags of ${countOf(sources.length, 'source')}`}>
      <form onSubmit={submit} noValidate>
        <Stack gap="md">
          <TagsInput
            label="Add tags"
            description="Press Enter after each tag."
            data={tags}
            value={added}
            onChange={setAdded}
            acceptValueOnBlur
            data-autofocus
          />
          {present.length > 0 && (
            <TagsInput
              label="Remove tags"
              description={`Present: ${present.join(', ')}.`}
              data={present}
              value={removed}
              onChange={(chosen) => setRemoved(chosen.filter((tag) => present.includes(tag)))}
              acceptValueOnBlur
            />
          )}
          {change.isError && <ErrorNote error={change.error} />}
          <DialogButtons
            submit="Save"
            isPending={change.isPending}
            isDisabled={added.length + removed.length === 0}
            onCancel={onClose}
          />
        </Stack>
      </form>
    </Modal>
  );
}
