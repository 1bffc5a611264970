/** So often it is tried to begin it. */
export const maxTries = 8
/** The most attempts to deliver one outcome. */
export const maxAttempts = 8

const secondMs = 1_000
const minuteMs = 60_000

const doubled = (firstMs: number, times: number, mostMs: number): number =>
  Math.min(mostMs, firstMs * 2 ** Math.min(times, 20))

/** The delay until the next look at a run: short at first, long for a parked run. */
export const lookDelayMs = (looks: number, isParked: boolean): number =>
  doubled(isParked ? 30 * secondMs : secondMs, looks, isParked ? 15 * minuteMs : minuteMs)

/** When it is tried again to begin a run: in all about twenty minutes. */
export const retryDelayMs = (tries: number): number => doubled(5 * secondMs, tries, 10 * minuteMs)

/** When a delivery is tried again: in all about half an hour. */
export const deliveryDelayMs = (attempts: number): number =>
  doubled(15 * secondMs, attempts, 60 * minuteMs)
