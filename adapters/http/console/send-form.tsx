import type { SendPreview } from '../../../application/cards/preview.js';
import { maxMessageLength } from '../../../domain/message.js';
import { ButtonLink, count, Cover, Panel } from '../web/parts.js';
import { Choice, Field, Form, Group, TextArea, Search } from '../web/form.js';
import { useVisit } from '../web/visit.js';
import { stateOptions } from './contact-parts.js';
import type { Draft, SendData } from './send-draft.js';
import { PreviewOfSend } from './send-preview.js';

interface ViewProps {
  readonly data: SendData;
  readonly draft: Draft;
  readonly preview: SendPreview | null;
}

/** Fills the form in with a contact. */
const FindContact = ({ find, found }: Pick<SendData, 'find' | 'found'>) => {
  const { url } = useVisit();
  return (
    <Panel id="from-contact" title="From a contact">
      <Search name="find" label="E-mail or external id" value={find} optional />
      {find !== '' && found.length === 0 ? (
        <p class="quiet">No contact has this e-mail or external id.</p>
      ) : null}
      {found.length === 0 ? null : (
        <ul class="rows">
          {found.map(({ id, details }) => (
            <li>
              <span>
                {details?.name} <span class="quiet small">{details?.email ?? details?.externalId}</span>
              </span>
              <ButtonLink to={url('send', {}, { contact: id })} kind="second end" words="Fill in" />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
};

interface DesignsProps extends Pick<SendData, 'designs'> {
  readonly chosen: string | undefined;
}

/** Chooses the design by its picture. */
const Designs = ({ designs, chosen }: DesignsProps) => (
  <Group name="design_id" legend="Design">
    <div class="pick small">
      {designs.map(({ value, title, note, artwork }) => (
        <label>
          <input type="radio" name="design_id" value={value} checked={value === chosen} required />
          <Cover title={title} artwork={artwork} isNamed />
          {title} <span class="quiet">{note}</span>
        </label>
      ))}
    </div>
  </Group>
);

/** The form, and beside it the preview. */
export const SendForm = ({ data, draft, preview }: ViewProps) => {
  const { designs, houseHand, find, found } = data;
  const chosen = draft.design_id === '' ? designs[0] : designs.find(({ value }) => value === draft.design_id);
  const at = (name: keyof Draft) => ({ name, value: draft[name] });
  const part = (name: keyof Draft, label: string, optional = false) => (
    <Field {...at(name)} label={label} optional={optional} />
  );
  return (
    <>
      <FindContact find={find} found={found} />
      <div class="grid even">
        <section class="panel live" aria-labelledby="card">
          <h2 id="card">The card</h2>
          <Form action={['preview', 'send']} id={data.form} fields={{ contact: draft.contact }}>
            {part('recipient.name', 'Name')}
            {part('recipient.line1', 'Street')}
            {part('recipient.line2', 'Apartment, suite, floor', true)}
            <div class="beside">
              {part('recipient.city', 'City')}
              <Choice {...at('recipient.state')} label="State" options={stateOptions} />
              {part('recipient.zip', 'ZIP')}
            </div>
            <TextArea
              {...at('message')}
              label="Message"
              hint={`At most ${maxMessageLength} characters.`}
              rows={9}
            />
            <Choice
              {...at('handwriting')}
              label="Handwriting"
              options={[
                { value: '', name: `${houseHand} (house hand)` },
                ...data.hands.filter((name) => name !== houseHand).map((name) => ({ value: name, name })),
              ]}
            />
            <Designs designs={designs} chosen={chosen?.value} />
            <div class="beside">
              <Field
                {...at('arrive_on')}
                label="Arrive by"
                hint="YYYY-MM-DD; empty for the soonest."
                optional
              />
              <Field {...at('reference')} label="Reference" hint="Your own, such as an order." optional />
            </div>
            <p class="note">This sends the card and spends 1 of {count(data.balance)} credits.</p>
            <p class="actions">
              <button type="submit" name="do" value="send">
                Send the card
              </button>
              <button type="submit" name="do" value="preview" class="second" formnovalidate>
                Preview
              </button>
            </p>
          </Form>
        </section>
        <PreviewOfSend
          preview={preview}
          hand={draft.handwriting === '' ? houseHand : draft.handwriting}
          front={chosen ?? null}
        />
      </div>
    </>
  );
};
