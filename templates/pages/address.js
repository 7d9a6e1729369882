"use strict";
// What a view shows stands in the page's address, so that the address shows it again; an empty text takes a name out.
const inAddress = (name, text) => {
  const view = new URLSearchParams(location.search);
  if (text) view.set(name, text);
  else view.delete(name);
  const query = view.toString().replaceAll("%2C", ",");
  const address = location.pathname + (query && `?${query}`) + location.hash;
  try { history.replaceState(history.state, "", address); } catch { /* a page that has no address of its own */ }
};
