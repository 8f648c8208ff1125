import { FormButton } from '../web/form.js';
import { Badge, Danger, Empty, Older, PageHeading, Panel, Table } from '../web/parts.js';
import { Time } from '../web/time.js';
import type { HookData } from './hook-data.js';
import { HookEditor } from './hook-editor.js';
import { PreviewOfHook } from './hook-preview.js';
import type { OrgContext } from './page.js';
import { paths } from '../web/paths.js';
import type { HookCall } from '../../../application/ports/hook-calls.js';
import { CardLink, ErrorCodeLink } from './links.js';

const columns = [
  {
    name: 'At',
    kind: 'head' as const,
    cell: ({ at }: HookCall) => <Time at={at} />,
  },
  {
    name: 'Answer',
    cell: ({ status, code }: HookCall) => (
      <>
        <Badge tone={status === 201 ? 'good' : 'bad'}>{status === 0 ? 'none' : status}</Badge>{' '}
        {code === null ? null : <ErrorCodeLink code={code} />}
        {status === 0 ? 'It was not known what had become of the card.' : null}
      </>
    ),
  },
  {
    name: 'Card',
    cell: ({ card }: HookCall) => (card === null ? null : <CardLink code={card} />),
  },
  { name: 'Request', cell: ({ requestId }: HookCall) => <code>{requestId}</code> },
];

interface PartProps {
  readonly data: HookData;
  readonly context: OrgContext;
}

const nameOf = ({ hook: { label } }: HookData): string => label ?? 'A hook without a label';

const HookHead = ({ data, context: { url, org } }: PartProps) => {
  const { hook, mayManage } = data;
  return (
    <>
      <PageHeading above={['Inbound hooks', url(paths.hooks, { org })]} title={nameOf(data)}>
        {hook.status === 'deleted' ? (
          <Badge tone="idle">Deleted</Badge>
        ) : hook.paused ? (
          <Badge tone="warn">Paused</Badge>
        ) : (
          <Badge tone="good">On</Badge>
        )}
        {mayManage ? (
          <FormButton
            action={hook.paused ? 'resume' : 'pause'}
            kind="second"
            words={hook.paused ? 'Resume' : 'Pause'}
          />
        ) : null}
      </PageHeading>
      <p class="quiet">
        Fired {hook.fireCount.toLocaleString('en-US')} ×
        {hook.lastFiredAt === null ? null : (
          <>
            , last <Time at={hook.lastFiredAt} />
          </>
        )}
        . Its URL was shown when it was made, and can’t be shown again.
      </p>
    </>
  );
};

const Calls = ({ data: { hook, calls }, context }: PartProps) => {
  const { url, org } = context;
  const { shown, last } = calls;
  return (
    <section aria-labelledby="calls">
      <h2 id="calls">Calls</h2>
      {shown.length === 0 ? (
        <Empty title="No calls">Each call is listed here, with its response and its card.</Empty>
      ) : (
        <Table label="Calls" columns={columns} rows={shown} />
      )}
      <Older to={last && url(paths.hook, { org, id: hook.id }, { before: last.id })} />
    </section>
  );
};

/** The page of a hook: its message with a preview, its calls, and the way to pause and to delete it. */
export const HookView = ({ data, context }: PartProps) => {
  const { hook, designs, mayManage, draft, preview } = data;
  return (
    <>
      <HookHead data={data} context={context} />
      {hook.status === 'deleted' ? null : (
        <div class="grid">
          <Panel id="message" title="Message">
            <HookEditor draft={draft} designs={designs} maySave={mayManage} />
          </Panel>
          <Panel id="preview" title="Preview">
            {preview === null ? (
              <p class="quiet">It comes back once the form is right.</p>
            ) : (
              <PreviewOfHook preview={preview} hasTemplate={draft.template !== ''} />
            )}
          </Panel>
        </div>
      )}
      <Calls data={data} context={context} />
      {mayManage ? (
        <Danger label="Delete this hook forever">
          <p>
            Calls of its URL are refused from then on, and nothing brings it back: to stop it for a while,
            pause it. The cards that it sent stay, and so does the list of its calls.
          </p>
          <FormButton action="delete" words="Delete forever" />
        </Danger>
      ) : null}
    </>
  );
};
