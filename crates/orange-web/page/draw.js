/** When things are read and drawn: once, however many changes there are. */

/** How often something may be read while many things change. */
const PAUSE = 300;

let isPlanned = false;
let drawing = () => {};

/** @param {() => void} how draws the whole page */
export const setDrawing = (how) => (drawing = how);

export function draw() {
  if (isPlanned) return;
  isPlanned = true;
  requestAnimationFrame(() => {
    isPlanned = false;
    drawing();
  });
}

/** @param {number} milliseconds */
export const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Reads one at a time, and once more for everything that comes meanwhile. @param {() => Promise<unknown>} read */
export function coalesce(read) {
  let isReading = false;
  let isDue = false;
  return async () => {
    isDue = true;
    if (isReading) return;
    isReading = true;
    while (isDue) {
      isDue = false;
      await read();
      await sleep(PAUSE);
    }
    isReading = false;
  };
}
