import { Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { zod4Resolver } from 'mantine-form-zod-resolver';
import { useNavigate } from 'react-router';
import { newNodeSchema } from '../../../../shared/archive/treeNode.ts';
import { call } from '../../api/client.ts';
import { fieldErrors } from '../../api/fieldErrors.ts';
import { callKey } from '../../api/useCall.ts';
import { DialogForm } from '../../components/forms/DialogForm.tsx';
import { FormDialog, type FormDialogControls } from '../../components/forms/FormDialog.tsx';

export interface NewNodeDialogProps {
  opened: boolean;
  onClose: () => void;
  /** The path of the parent subject; undefined for a top-level subject. */
  parent?: string;
}

/** Creates a subject and opens its page. */
export function NewSubjectDialog({ opened, onClose, parent }: NewNodeDialogProps) {
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={parent ? `New subject below ${parent}` : 'New subject'}
    >
      {(controls) => <NewNodeForm parent={parent} {...controls} />}
    </FormDialog>
  );
}

function NewNodeForm({
  parent,
  onDone,
  ...controls
}: Pick<NewNodeDialogProps, 'parent'> & FormDialogControls) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const form = useForm({
    initialValues: { path: parent ? `${parent}/` : '', title: '', description: '' },
    validate: zod4Resolver(newNodeSchema),
  });
  const create = useMutation({
    mutationFn: (values: typeof form.values) => call('createNode', { body: values }),
    onError: (error) => form.setErrors(fieldErrors(error)),
    onSuccess: async (node) => {
      await queries.invalidateQueries({ queryKey: callKey('readTree') });
      await queries.invalidateQueries({ queryKey: callKey('readNode') });
      onDone();
      await navigate(`/nodes/${node.path}`);
    },
  });
  /** The last part of the path follows the title until the path is edited. */
  const setTitle = (title: string) => {
    const prefix = parent ? `${parent}/` : '';
    if (!form.isDirty('path') || form.values.path === prefix + pathStepOf(form.values.title)) {
      form.setFieldValue('path', prefix + pathStepOf(title));
    }
    form.setFieldValue('title', title);
  };
  return (
    <DialogForm form={form} controls={controls} save={create} submit="Create subject">
      <TextInput
        label="Title"
        data-autofocus
        {...form.getInputProps('title')}
        onChange={(event) => setTitle(event.currentTarget.value)}
      />
      <TextInput
        label="Path"
        description="Lowercase letters, digits and hyphens. Use a slash for each level. It cannot be changed later."
        className="mono"
        {...form.getInputProps('path')}
      />
      <Textarea
        label="Description"
        autosize
        minRows={2}
        maxRows={10}
        {...form.getInputProps('description')}
      />
    </DialogForm>
  );
}

/** Converts a title to a path segment: `Forêt & feu` to `foret-feu`. */
function pathStepOf(title: string): string {
  return title
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 64);
}
