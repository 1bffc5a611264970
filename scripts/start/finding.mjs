// The result of one check of the doctor.

/** `fix` tells a person what to do; `repair` does it, where that is safe: it adds, it never overwrites. */
const finding =
  (state) =>
  (check, what, more = {}) => ({ check, state, what, ...more })

export const ok = finding('ok')
export const warn = finding('warn')
export const fail = finding('fail')
