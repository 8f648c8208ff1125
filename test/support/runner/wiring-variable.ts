/** The variable under which a run of the tests starts every service on servers. */
export const wiringVariable = 'TEST_WIRING';
