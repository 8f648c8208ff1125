import { changeCard } from '../../../../../application/cards/change-card.js';
import { codeFrom } from '../../../../../application/cards/read-cards.js';
import { findDesign } from '../../../../../application/organizations/read-accounts.js';
import {
  type Card,
  type CardEvent,
  fail,
  hold,
  queue,
  type ReportedStatus,
  reportStep,
  steps,
} from '../../../../../domain/card.js';
import { stepReport, withReason } from '../../../operator/cards.js';
import { parseValues } from '../../../schema/read.js';
import { Field, Form } from '../../../web/form.js';
import { ButtonLink, Cover, Danger, Day, Facts } from '../../../web/parts.js';
import { nothingHere } from '../../admit.js';
import { gone, reasonInWords, Status, stepNames, Steps } from '../../card-words.js';
import { cardOn, type Next, nextOf } from '../../floor-data.js';
import { go, type KnownContext, page, type Sent } from '../../page.js';

const change = async (context: KnownContext, decide: (state: Card) => CardEvent[], machine = '') => {
  const { deps, command, params, url } = context;
  const code = codeFrom(params['code'] ?? '');
  await changeCard(deps, { code, org: null }, command(), decide);
  return go(url('floorCard', { code }, machine === '' ? {} : { machine }));
};

/** The form names the step that it was shown for: an older form has no effect on the next step. */
const report = (status: ReportedStatus) => (context: KnownContext, sent: Sent) => {
  const step = steps.find((known) => known === sent('step'));
  if (step === undefined) throw nothingHere();
  const { machine } = parseValues(stepReport, { status, machine: sent('machine') });
  return change(context, reportStep(step, status, machine), machine ?? '');
};

const reasonIn = (sent: Sent): string => parseValues(withReason, { reason: sent('reason') }).reason;

/** One large button for the next step. The machine stays in the form. */
const NextStep = ({ next, machine }: { readonly next: Next; readonly machine: string }) => {
  switch (next.kind) {
    case 'nothing':
      return <p class="note">Nothing is to be done with this card.</p>;
    case 'queue':
      return (
        <Form action="queue">
          <button type="submit" name="do" value="queue" class="huge">
            Take it to the floor
          </button>
        </Form>
      );
    case 'start':
    case 'done':
      return (
        <Form action={['start', 'done', 'failed']} fields={{ step: next.step }}>
          <button type="submit" name="do" value={next.kind} class="huge">
            {next.kind === 'start' ? 'Start' : 'Done'}: {stepNames[next.step]}
          </button>
          <Field name="machine" label="Machine" value={machine} optional />
          {next.kind === 'done' ? (
            <button type="submit" name="do" value="failed" class="second">
              It failed
            </button>
          ) : null}
        </Form>
      );
  }
};

/** The ways to take a card off the floor, with the reason. `from`: the statuses that allow it. */
const waysOff = [
  {
    action: 'hold',
    from: ['pending', 'queued'],
    label: 'Hold the card',
    consequence: 'It needs a person, and its credit comes back.',
  },
  {
    action: 'fail',
    from: ['in_production', 'written', 'packed'],
    label: 'Give the card up',
    consequence: 'It is not made, and its credit comes back. This can’t be undone.',
  },
] as const;

export const floorCardPage = page({
  path: 'floorCard',
  may: 'floor.work',
  query: ['machine'],
  load: async (context) => {
    const found = await cardOn(context);
    const design = await findDesign(context.deps, found.order.org, found.order.design.id);
    return { ...found, design, machine: context.query('machine') };
  },
  title: ({ card }) => card.code,
  heading: ({ card }, { url }) => ({
    above: ['Floor', url('floor')],
    beside: <Status status={card.status} />,
  }),
  view: ({ card, design, machine }, { url }) => (
    <>
      {card.heldReason === null ? null : <p class="note warning">Held: {reasonInWords(card.heldReason)}</p>}
      <section class="panel" aria-label="The next step">
        <NextStep next={nextOf(card)} machine={machine} />
      </section>
      <Steps steps={card.steps} label="Steps" />
      {design === null ? null : (
        <div class="covers">
          <Cover title={design.name} artwork={design.artwork} isErased={design.erased !== null} />
        </div>
      )}
      <Facts
        of={{
          Design: design?.name,
          Due: <Day day={card.due} />,
          To: card.recipient?.name ?? gone(card.erasedAt),
          Handwriting: card.handwriting,
        }}
      />
      <p class="actions">
        {card.recipient === null ? null : (
          <ButtonLink to={url('sheets', { code: card.code })} kind="second" words="Print its sheets" />
        )}
        <ButtonLink to={url('floor')} kind="second" words="Next card" />
      </p>
      {waysOff
        .filter(({ from }) => from.some((status) => status === card.status))
        .map(({ action, label, consequence }) => (
          <Danger label={label}>
            <Form action={action} button={label}>
              <p>{consequence}</p>
              <Field name="reason" label="Reason" />
            </Form>
          </Danger>
        ))}
    </>
  ),
  actions: {
    queue: (context) => change(context, queue),
    start: report('in_progress'),
    done: report('completed'),
    failed: report('failed'),
    hold: (context, sent) => change(context, hold(reasonIn(sent))),
    fail: (context, sent) => change(context, fail(reasonIn(sent))),
  },
});
