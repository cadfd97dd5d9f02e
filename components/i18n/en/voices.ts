/** Words of the voices page. */
export const voices = { title: "Voices" };
