import { expect } from 'chai';
import { ArtworkDigest, type Front } from '../../domain/artwork.js';
import {
  collectionCard,
  firstCollection,
  firstHandwritings,
  handwriting,
  handwritingId,
  offeredHand,
  putCollectionCard,
  putHandwriting,
  type CollectionEvent,
  type HandwritingEvent,
} from '../../domain/catalogue.js';
import { DomainError } from '../../domain/errors.js';
import { given } from '../support/fixtures/scenario.js';

const published = (title: string, artwork: Front | null = null): CollectionEvent => ({
  type: 'CollectionCardPublished',
  data: { title, artwork },
});
const withdrawn: CollectionEvent = { type: 'CollectionCardWithdrawn', data: {} };
const offered: HandwritingEvent = { type: 'HandwritingOffered', data: { name: 'Elegant' } };
const noLonger: HandwritingEvent = { type: 'HandwritingWithdrawn', data: {} };

describe('a card of the public collection', () => {
  it('is published once, and again under another title', () => {
    given(collectionCard).when(putCollectionCard('Thanks', true)).records(published('Thanks'));
    given(collectionCard, published('Thanks'))
      .when(putCollectionCard('Thank you', true))
      .records(published('Thank you'));
    given(collectionCard, published('Thanks')).when(putCollectionCard('Thanks', true)).recordsNothing();
  });

  it('is withdrawn, and can be published again', () => {
    given(collectionCard, published('Thanks')).when(putCollectionCard('Thanks', false)).records(withdrawn);
    given(collectionCard, published('Thanks'), withdrawn)
      .when(putCollectionCard('Thanks', false))
      .recordsNothing();
    given(collectionCard, published('Thanks'), withdrawn)
      .when(putCollectionCard('Thanks', true))
      .records(published('Thanks'));
    expect(given(collectionCard, published('Thanks'), withdrawn).state).to.deep.equal({
      title: 'Thanks',
      artwork: null,
      active: false,
    });
  });

  it('may be recorded without being offered, and renamed meanwhile', () => {
    given(collectionCard).when(putCollectionCard('Thanks', false)).records(published('Thanks'), withdrawn);
    given(collectionCard, published('Thanks'), withdrawn)
      .when(putCollectionCard('Thank you', false))
      .records(published('Thank you'), withdrawn);
  });
});

const front = (digit: string): Front => ({
  digest: ArtworkDigest.parse(digit.repeat(64)),
  bytes: 1,
  width: 1575,
  height: 2175,
  fit: 'fill',
});

describe('the front of a collection card', () => {
  it('is published with it, kept when only its title changes, and replaced', () => {
    const [one, other] = [front('1'), front('2')];
    given(collectionCard)
      .when(putCollectionCard('Thanks', true, one))
      .records(published('Thanks', one));
    const card = given(collectionCard, published('Thanks', one));
    card.when(putCollectionCard('Thanks', true)).recordsNothing();
    card.when(putCollectionCard('Thanks', true, one)).recordsNothing();
    card.when(putCollectionCard('Thank you', true)).records(published('Thank you', one));
    card.when(putCollectionCard('Thanks', true, other)).records(published('Thanks', other));
  });
});

describe('a handwriting', () => {
  it('is offered and withdrawn, each once', () => {
    given(handwriting).when(putHandwriting('Elegant', true)).records(offered);
    given(handwriting, offered).when(putHandwriting('Elegant', true)).recordsNothing();
    given(handwriting, offered).when(putHandwriting('Elegant', false)).records(noLonger);
    given(handwriting, offered, noLonger).when(putHandwriting('Elegant', false)).recordsNothing();
    given(handwriting).when(putHandwriting('Elegant', false)).records(offered, noLonger);
  });

  it('keeps the name under which it was first offered', () => {
    given(handwriting, offered, noLonger).when(putHandwriting('ELEGANT', true)).records(offered);
    given(handwriting, offered).when(putHandwriting('ELEGANT', true)).recordsNothing();
  });

  it('is found by its canonical name while it is offered', () => {
    expect(offeredHand(given(handwriting, offered).state, 'elegant')).to.equal('Elegant');
    for (const state of [given(handwriting).state, given(handwriting, offered, noLonger).state]) {
      expect(() => offeredHand(state, 'elegant'))
        .to.throw(DomainError)
        .with.property('code', 'unknown_handwriting');
    }
  });

  it('can’t have a name that differs from another’s only in case', () => {
    expect(handwritingId('Elegant')).to.equal(handwritingId(' ELEGANT '));
    expect(handwritingId('Elegant')).to.not.equal(handwritingId('Elegante'));
  });
});

describe('the initial catalogue', () => {
  it('has six handwritings and twelve cards, each once', () => {
    expect(new Set(firstHandwritings.map((name) => handwritingId(name))).size).to.equal(6);
    expect(new Set(firstCollection.map(({ slug }) => slug)).size).to.equal(12);
    expect(firstCollection.filter(({ slug }) => !/^[a-z]+(-[a-z]+)*$/.test(slug))).to.deep.equal([]);
  });
});
