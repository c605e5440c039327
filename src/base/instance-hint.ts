/** Remedy where two processes of a pipeline have one name, whoever notices it. */
export const ownInstanceNameHint =
  'Give each process a name of its own: --instance.name NAME, or TIDEMARK_INSTANCE_NAME. By default it is the name of the host, which containers may have in common.';
