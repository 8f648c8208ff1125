import de.bwaldvogel.mongo.MongoCollection;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.Utils;
import de.bwaldvogel.mongo.backend.ValueComparator;
import de.bwaldvogel.mongo.bson.BsonRegularExpression;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.bson.ObjectId;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.stream.Stream;

/**
 * An index as MongoDB's: its entries are in order, so that it finds fixed values of its first fields, one range
 * after them, and the order of what follows. The library has none, and reads every document instead. What an
 * index finds may be too much, never too little: the query's filter is applied to it, too.
 */
final class OrderedIndex extends Index<Object> {
  private static final ValueComparator VALUES = ValueComparator.ascWithoutListHandling();
  private static final int BEFORE = -1;
  private static final int AFTER = 1;

  /** An entry (`side` is 0), or a place before or after all entries that begin with these values. */
  private record Entry(List<Object> values, Object position, int side) {}

  /** What a query finds in an index: stretches of it, and whether they are in the order that is asked for. */
  record Search(OrderedIndex index, List<NavigableSet<Entry>> stretches, int score, boolean isOrdered) {
    Stream<Object> positions() {
      return stretches.stream().flatMap(Collection::stream).map(Entry::position);
    }
  }

  private final NavigableSet<Entry> entries = new ConcurrentSkipListSet<>(this::compare);

  /** Once a field has held a list, a document has several entries, and the index is not used. */
  private boolean hasLists = false;

  OrderedIndex(String name, List<IndexKey> keys) {
    super(name, keys, true);
  }

  private int compare(Entry one, Entry other) {
    int common = Math.min(one.values.size(), other.values.size());
    for (int at = 0; at < common; at++) {
      int found = VALUES.compare(one.values.get(at), other.values.get(at));
      if (found != 0) return getKeys().get(at).isAscending() ? found : -found;
    }
    if (one.values.size() < other.values.size()) return one.side;
    if (one.values.size() > other.values.size()) return -other.side;
    if (one.side != 0 || other.side != 0) return Integer.compare(one.side, other.side);
    return VALUES.compare(one.position, other.position);
  }

  private Entry entryOf(Document document) {
    var values = new ArrayList<Object>();
    for (var key : getKeys()) {
      var value = Utils.getSubdocumentValueCollectionAware(document, key.getKey());
      if (value instanceof Collection) hasLists = true;
      values.add(value);
    }
    return new Entry(values, document.get("_id"), 0);
  }

  /** How this index would find what a query asks for; null if it can't. */
  Search search(Map<String, List<Object>> conditions, Document order) {
    if (hasLists) return null;
    var prefixes = List.of(List.of());
    int fixed = 0;
    for (; fixed < getKeys().size(); fixed++) {
      var points = points(conditions.getOrDefault(getKeys().get(fixed).getKey(), List.of()));
      if (points == null) break;
      prefixes = prefixes.stream()
          .flatMap(prefix -> points.stream().map(point -> with(prefix, point)))
          .toList();
    }
    var range = fixed == getKeys().size() ? null : range(conditions.get(getKeys().get(fixed).getKey()));
    int direction = prefixes.size() == 1 ? directionOf(order, fixed) : 0;
    boolean isSorted = order != null && !order.isEmpty() && direction != 0;
    if (fixed == 0 && range == null && !isSorted) return null;
    var ascending = fixed == getKeys().size() || getKeys().get(fixed).isAscending();
    var stretches = prefixes.stream()
        .map(prefix -> range == null ? stretch(place(prefix, BEFORE), place(prefix, AFTER)) : range.of(prefix, ascending))
        .map(stretch -> direction < 0 ? stretch.descendingSet() : stretch)
        .toList();
    int score = 4 * fixed + (range == null ? 0 : 2) + (isSorted ? 1 : 0);
    return new Search(this, stretches, score, direction != 0);
  }

  /** 1 if the entries after fixed fields are in this order, -1 if they are in the opposite order, else 0. */
  private int directionOf(Document order, int fixed) {
    if (order == null) return 1;
    var prefix = keys().subList(0, fixed);
    int direction = 0;
    int at = fixed;
    for (var sort : order.entrySet()) {
      if (prefix.contains(sort.getKey())) continue;
      if (at == getKeys().size() || !getKeys().get(at).getKey().equals(sort.getKey())) return 0;
      boolean isSame = getKeys().get(at).isAscending() == ((Number) sort.getValue()).intValue() > 0;
      if (direction == (isSame ? -1 : 1)) return 0;
      direction = isSame ? 1 : -1;
      at++;
    }
    return direction == 0 ? 1 : direction;
  }

  /** The values that a field is fixed to, in order; null if it isn't. */
  private static Collection<Object> points(List<Object> conditions) {
    for (var condition : conditions) {
      Object asked = condition;
      if (condition instanceof Document operators && !operators.isEmpty()) {
        if (operators.get("$in") instanceof Collection<?> values && values.stream().allMatch(OrderedIndex::isPoint)) {
          var points = new TreeSet<Object>(VALUES);
          points.addAll(values);
          return points;
        }
        if (!operators.containsKey("$eq")) continue;
        asked = operators.get("$eq");
      }
      if (isPoint(asked)) {
        var point = new ArrayList<Object>();
        point.add(asked);
        return point;
      }
    }
    return null;
  }

  private static boolean isPoint(Object value) {
    return !(value instanceof Document)
        && !(value instanceof Collection)
        && !(value instanceof BsonRegularExpression);
  }

  private final class Range {
    /** The lowest is null if there is none: what has no value is not greater or less than a value. */
    private Object low = null;
    private boolean withLow = false;
    private Object high = null;
    private boolean withHigh = false;

    private void add(String operator, Object value) {
      boolean isLow = operator.equals("$gt") || operator.equals("$gte");
      boolean isNarrower = (isLow ? low : high) == null || VALUES.compare(value, isLow ? low : high) * (isLow ? 1 : -1) > 0;
      if (!isNarrower) return;
      if (isLow) {
        low = value;
        withLow = operator.equals("$gte");
      } else {
        high = value;
        withHigh = operator.equals("$lte");
      }
    }

    private NavigableSet<Entry> of(List<Object> prefix, boolean ascending) {
      var lowest = place(with(prefix, low), withLow == ascending ? BEFORE : AFTER);
      var highest =
          high == null
              ? place(prefix, ascending ? AFTER : BEFORE)
              : place(with(prefix, high), withHigh == ascending ? AFTER : BEFORE);
      return ascending ? stretch(lowest, highest) : stretch(highest, lowest);
    }
  }

  private Range range(List<Object> conditions) {
    Range range = null;
    for (var condition : conditions == null ? List.of() : conditions) {
      if (!(condition instanceof Document operators)) continue;
      for (var operator : operators.entrySet()) {
        var isBound = List.of("$gt", "$gte", "$lt", "$lte").contains(operator.getKey());
        var value = operator.getValue();
        var isOrdinary =
            value instanceof Number || value instanceof String || value instanceof Instant || value instanceof ObjectId;
        if (!isBound || !isOrdinary) continue;
        if (range == null) range = new Range();
        range.add(operator.getKey(), value);
      }
    }
    return range;
  }

  private static List<Object> with(List<?> prefix, Object value) {
    var values = new ArrayList<Object>(prefix);
    values.add(value);
    return values;
  }

  private static Entry place(List<Object> values, int side) {
    return new Entry(values, null, side);
  }

  private NavigableSet<Entry> stretch(Entry from, Entry to) {
    return compare(from, to) > 0 ? new TreeSet<>() : entries.subSet(from, true, to, true);
  }

  @Override
  public void add(Document document, Object position, MongoCollection<Object> collection) {
    entries.add(entryOf(document));
  }

  @Override
  public Object remove(Document document) {
    entries.remove(entryOf(document));
    return null;
  }

  @Override
  public void updateInPlace(
      Document before, Document after, Object position, MongoCollection<Object> collection) {
    var old = entryOf(before);
    var changed = entryOf(after);
    if (compare(old, changed) == 0) return;
    entries.remove(old);
    entries.add(changed);
  }

  @Override
  public long getCount() {
    return entries.size();
  }

  @Override
  public boolean isEmpty() {
    return entries.isEmpty();
  }

  @Override
  public long getDataSize() {
    return 0;
  }

  @Override
  public void drop() {
    entries.clear();
  }

  // What the library asks of unique indexes.

  @Override
  public Object getPosition(Document document) {
    return null;
  }

  @Override
  public boolean canHandle(Document query) {
    return false;
  }

  @Override
  public Iterable<Object> getPositions(Document query) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void checkAdd(Document document, MongoCollection<Object> collection) {}

  @Override
  public void checkUpdate(Document before, Document after, MongoCollection<Object> collection) {}
}
