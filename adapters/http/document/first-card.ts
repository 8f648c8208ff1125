import { arrivalWindow } from '../../../domain/calendar.js';
import { cardEvents, type FirstEvent } from '../../../domain/card.js';
import { capture, unwrap, type DomainError } from '../../../domain/errors.js';
import { LocalDate, OrganizationId, Uuid } from '../../../domain/ids.js';
import { exampleMessage, exampleRecipient, readCardFields } from '../api/card-fields.js';
import { sentCardBody } from '../api/cards.js';

/** The request and the response of the first card, made by the code that reads and answers requests. */
export const firstRequest = { recipient: exampleRecipient, message: exampleMessage };

const firstEvent = (): FirstEvent => {
  const { recipient, message } = readCardFields(firstRequest);
  const order = {
    org: OrganizationId.parse('0c6f1f3e-8d2b-4f5a-9b1e-3a7c5d9e2f10'),
    request: '',
    source: { kind: 'api', id: '' },
    design: {
      id: Uuid.parse('5d0a4c7e-2b9f-4e1d-8a6c-7f3b1e9d2c40'),
      slug: null,
      copied: false,
      front: null,
    },
    handwriting: 'Everyday',
    window: arrivalWindow(LocalDate.parse('2026-03-10')),
    due: LocalDate.parse('2026-03-03'),
    reference: null,
    contact: null,
  };
  const personal = { recipient: unwrap(recipient), message: unwrap(message) };
  // Parsed like a stored event, so that optional fields need not be spelled out.
  return { type: 'CardScheduled', data: cardEvents.CardScheduled.parse({ order, personal }) };
};

export const firstResponse = (baseUrl: string): object =>
  sentCardBody({ code: 'HC-7K3M9QX', event: firstEvent() }, baseUrl);

/** How it is refused if its ZIP code lacks a digit. */
export const firstRefusal = (): DomainError => {
  const recipient = { ...exampleRecipient, zip: '6270' };
  const read = capture(() => unwrap(readCardFields({ ...firstRequest, recipient }).recipient));
  if (!('refusal' in read)) throw new Error('A ZIP code of four digits was taken.');
  return read.refusal;
};
