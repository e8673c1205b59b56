import { Modal, Radio, Stack, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { zod4Resolver } from 'mantine-form-zod-resolver';
import { useNavigate } from 'react-router';
import { newStudySchema } from '../../../../shared/study.ts';
import { call } from '../../api/client.ts';
import { fieldErrors } from '../../api/fieldErrors.ts';
import { answerKey } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { DialogButtons } from '../../components/forms/DialogButtons.tsx';
import { NodePicker } from '../../components/forms/pickers/NodePicker.tsx';

export interface NewStudyDialogProps {
  opened: boolean;
  onClose: () => void;
  /** The node that the study is to hang at, where the page knows it. */
  node?: string;
}

/** Creates a study and goes to it. */
export function NewStudyDialog({ opened, onClose, node }: NewStudyDialogProps) {
  return (
    <Modal opened={opened} onClose={onClose} title="New study" size="lg">
      <NewStudyForm onClose={onClose} node={node} />
    </Modal>
  );
}

function NewStudyForm({ onClose, node }: Omit<NewStudyDialogProps, 'opened'>) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const form = useForm<{
    title: string;
    question: string;
    description: string;
    node: string | null;
    status: 'planned' | 'running';
  }>({
    initialValues: { title: '', question: '', description: '', node: node ?? null, status: 'planned' },
    validate: zod4Resolver(newStudySchema),
  });
  const create = useMutation({
    mutationFn: (values: typeof form.values) => call('createStudy', { body: values }),
    onError: (error) => form.setErrors(fieldErrors(error)),
    onSuccess: async (study) => {
      await queries.invalidateQueries({ queryKey: answerKey('listStudies') });
      await navigate(`/studies/${study.id}`);
    },
  });
  return (
    <form onSubmit={form.onSubmit((values) => create.mutate(values))}>
      <Stack gap="md">
        <TextInput label="Title" data-autofocus {...form.getInputProps('title')} />
        <Textarea
          label="Question"
          description="The one question that the packs of this study are to answer."
          autosize
          minRows={2}
          maxRows={6}
          {...form.getInputProps('question')}
        />
        <Textarea
          label="Description"
          description="What else belongs to it: protocol, registration, who takes part. Markdown."
          autosize
          minRows={3}
          maxRows={14}
          {...form.getInputProps('description')}
        />
        <NodePicker
          label="Node"
          description="The subject, in the archive’s tree. May be left out."
          value={form.values.node}
          onChange={(path) => form.setFieldValue('node', path)}
          error={form.errors.node}
        />
        <Radio.Group label="Status" {...form.getInputProps('status')}>
          <Stack gap="xs" mt="xs">
            <Radio value="planned" label="planned: not begun yet" />
            <Radio value="running" label="running: under way" />
          </Stack>
        </Radio.Group>
        {create.error && <ErrorNote error={create.error} />}
        <DialogButtons submit="Create the study" isPending={create.isPending} onCancel={onClose} />
      </Stack>
    </form>
  );
}
