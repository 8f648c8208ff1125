import type { HookCall } from '../../../application/ports/hook-calls.js';
import { Badge, Table } from '../web/parts.js';
import { Time } from '../web/time.js';
import { ErrorCodeLink } from './error-code.js';
import type { OrgContext } from './page.js';
import { paths } from '../web/paths.js';

const columnsFor = (context: OrgContext) => [
  {
    name: 'At',
    kind: 'head' as const,
    cell: ({ at }: HookCall) => <Time at={at} zone={context.timeZone} />,
  },
  {
    name: 'Answer',
    cell: ({ status, code }: HookCall) => (
      <>
        <Badge tone={status === 201 ? 'good' : 'bad'}>{status === 0 ? 'none' : status}</Badge>{' '}
        {code === null ? null : <ErrorCodeLink code={code} context={context} />}
        {status === 0 ? 'It was not known what had become of the card.' : null}
      </>
    ),
  },
  {
    name: 'Card',
    cell: ({ card }: HookCall) =>
      card === null ? null : <a href={context.url(paths.card, { code: card })}>{card}</a>,
  },
  { name: 'Request', cell: ({ requestId }: HookCall) => <code>{requestId}</code> },
];

interface Props {
  readonly calls: readonly HookCall[];
  readonly context: OrgContext;
}

export const CallsTable = ({ calls, context }: Props) => (
  <Table label="Calls" columns={columnsFor(context)} rows={calls} />
);
