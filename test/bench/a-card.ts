/** The body of a send. */
export const aCard = JSON.stringify({
  recipient: {
    name: 'Ada Lovelace',
    line1: '12 Analytical Way',
    city: 'Springfield',
    state: 'IL',
    zip: '62701',
  },
  message: 'Thank you for everything, Ada.',
});
